package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/cli/values"
	"helm.sh/helm/v4/pkg/getter"
	release "helm.sh/helm/v4/pkg/release/v1"
)

// fuzzCase is what case.json of a case says.
type fuzzCase struct {
	Release     string   `json:"release"`
	Namespace   string   `json:"namespace"`
	KubeVersion string   `json:"kubeVersion"`
	APIVersions []string `json:"apiVersions"`
	IncludeCRDs bool     `json:"includeCRDs"`
	SkipTests   bool     `json:"skipTests"`
	Set         []string `json:"set"`
}

type answer struct {
	Out      *string `json:"out,omitempty"`
	Err      *string `json:"err,omitempty"`
	Warnings string  `json:"warnings"`
}

// log is what Helm has logged of the present case; one that was left behind may still write.
type log struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (l *log) Write(line []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(line)
}

// take empties the log.
func (l *log) take() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	defer l.text.Reset()
	return l.text.String()
}

var logged log

// serve reads the folder of a case from each line and answers with one line, {"out": …} or {"err": …}: what
// `helm template` prints of it.
func serve(input io.Reader, output io.Writer) error {
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{ReplaceAttr: timeless})))
	time.Local = time.UTC
	debug.SetMaxStack(64 << 20)
	encoder := json.NewEncoder(output)
	encoder.SetEscapeHTML(false)
	lines := bufio.NewScanner(input)
	for lines.Scan() {
		if err := encoder.Encode(patient(lines.Text())); err != nil {
			return err
		}
	}
	return lines.Err()
}

// timeless leaves out the time of a line, as the command line does.
func timeless(_ []string, attr slog.Attr) slog.Attr {
	if attr.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return attr
}

// patient runs a case for five seconds at most; one that takes longer is left behind.
func patient(folder string) answer {
	logged.take()
	done := make(chan answer, 1)
	go func() {
		a := answered(folder)
		a.Warnings = logged.take()
		done <- a
	}()
	select {
	case a := <-done:
		return a
	case <-time.After(5 * time.Second):
		text := "panic: too slow"
		return answer{Err: &text}
	}
}

func answered(folder string) (a answer) {
	defer func() {
		if r := recover(); r != nil {
			text := fmt.Sprintf("panic: %v", r)
			a = answer{Err: &text}
		}
	}()
	text, err := template(folder)
	if err != nil {
		message := err.Error()
		return answer{Err: &message}
	}
	return answer{Out: &text}
}

// template does what `helm template` does, in its order.
func template(folder string) (string, error) {
	var c fuzzCase
	text, err := os.ReadFile(filepath.Join(folder, "case.json"))
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return "", err
	}
	client := action.NewInstall(action.NewConfiguration())
	if c.KubeVersion != "" {
		if client.KubeVersion, err = common.ParseKubeVersion(c.KubeVersion); err != nil {
			return "", fmt.Errorf("invalid kube version '%s': %w", c.KubeVersion, err)
		}
	}
	client.DryRunStrategy = action.DryRunClient
	client.ReleaseName, client.Namespace = c.Release, c.Namespace
	client.Replace = true
	client.APIVersions = common.VersionSet(c.APIVersions)
	client.IncludeCRDs = c.IncludeCRDs
	given, err := userValues(folder, c.Set)
	if err != nil {
		return "", err
	}
	loaded, err := loader.Load(filepath.Join(folder, "chart"))
	if err != nil {
		return "", err
	}
	if err := installable(loaded); err != nil {
		return "", err
	}
	made, err := client.Run(loaded, given)
	if err != nil {
		return "", err
	}
	rendered, ok := made.(*release.Release)
	if !ok {
		return "", errors.New("another form of release")
	}
	return shown(rendered, c.SkipTests), nil
}

func userValues(folder string, set []string) (map[string]any, error) {
	options := values.Options{Values: set}
	for _, name := range []string{"values.yaml", "values2.yaml"} {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err == nil {
			options.ValueFiles = append(options.ValueFiles, path)
		}
	}
	return options.MergeValues(getter.All(cli.New()))
}

func installable(loaded chart.Charter) error {
	accessor, err := chart.NewAccessor(loaded)
	if err != nil {
		return err
	}
	switch kind := accessor.MetadataAsMap()["Type"]; kind {
	case "", "application":
	default:
		return fmt.Errorf("%s charts are not installable", kind)
	}
	if accessor.Deprecated() {
		slog.Warn("this chart is deprecated")
	}
	if wanted := accessor.MetaDependencies(); len(wanted) > 0 {
		if err := action.CheckDependencies(loaded, wanted); err != nil {
			return fmt.Errorf("an error occurred while checking for chart dependencies. You may need to run 'helm dependency build' to fetch missing dependencies: %w", err)
		}
	}
	return nil
}

func shown(rendered *release.Release, skipTests bool) string {
	var text bytes.Buffer
	fmt.Fprintln(&text, strings.TrimSpace(rendered.Manifest))
	for _, hook := range rendered.Hooks {
		isTest := false
		for _, event := range hook.Events {
			isTest = isTest || event == release.HookTest
		}
		if !(skipTests && isTest) {
			fmt.Fprintf(&text, "---\n# Source: %s\n%s\n", hook.Path, hook.Manifest)
		}
	}
	return text.String()
}
