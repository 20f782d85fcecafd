// The oracle prints what Go's text/template does with a case: it reads cases as JSON lines
// (template, data, group, missingkey) and answers each with one line, {"out": …} or {"err": …}.
// It is the reference of the conformance cases and of the differential fuzz, and no part of
// the build. With -bench it measures one case instead.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"text/template"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
)

type testCase struct {
	Group      string          `json:"group"`
	Template   string          `json:"template"`
	Data       json.RawMessage `json:"data"`
	MissingKey string          `json:"missingkey"`
}

type answer struct {
	Out *string `json:"out,omitempty"`
	Err *string `json:"err,omitempty"`
}

func main() {
	bench := flag.Duration("bench", 0, "measure the first case for this long")
	flag.Parse()
	time.Local = time.UTC
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var c testCase
			if err := json.Unmarshal(line, &c); err != nil {
				fmt.Fprintln(os.Stderr, "bad case:", err)
				os.Exit(1)
			}
			if *bench > 0 {
				measure(c, *bench)
				return
			}
			encoder.Encode(patient(c))
			out.Flush()
		}
		if err != nil {
			return
		}
	}
}

func run(c testCase) (a answer) {
	defer func() {
		if r := recover(); r != nil {
			text := fmt.Sprintf("panic: %v", r)
			a = answer{Err: &text}
		}
	}()
	t, err := parse(c)
	if err != nil {
		text := err.Error()
		return answer{Err: &text}
	}
	b := &bounded{left: 1 << 20}
	if err := t.Execute(b, decode(c.Data)); err != nil {
		text := err.Error()
		return answer{Err: &text}
	}
	text := b.String()
	return answer{Out: &text}
}

// bounded is a buffer that refuses to grow without end.
type bounded struct {
	bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	b.left -= len(p)
	if b.left < 0 {
		return 0, fmt.Errorf("panic: too much output")
	}
	return b.Buffer.Write(p)
}

// patient runs a case for two seconds at most; one that takes longer is left behind.
func patient(c testCase) answer {
	done := make(chan answer, 1)
	go func() { done <- run(c) }()
	select {
	case a := <-done:
		return a
	case <-time.After(2 * time.Second):
		text := "panic: too slow"
		return answer{Err: &text}
	}
}

func parse(c testCase) (*template.Template, error) {
	t := template.New("t")
	if c.MissingKey != "" {
		t = t.Option("missingkey=" + c.MissingKey)
	}
	if c.Group == "sprig" {
		t = t.Funcs(sprig.FuncMap())
	}
	return t.Funcs(codecs()).Parse(c.Template)
}

func measure(c testCase, window time.Duration) {
	var objects []json.RawMessage
	var dots []any
	if json.Unmarshal(c.Data, &objects) == nil {
		for _, o := range objects {
			dots = append(dots, decode(o))
		}
	} else {
		dots = append(dots, decode(c.Data))
	}
	t := template.Must(parse(c))
	var b bytes.Buffer
	best := 0.0
	for round := 0; round < 3; round++ {
		start, n := time.Now(), 0
		for time.Since(start) < window {
			for _, dot := range dots {
				b.Reset()
				if err := t.Execute(&b, dot); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				n++
			}
		}
		if rate := float64(n) / time.Since(start).Seconds(); rate > best {
			best = rate
		}
	}
	fmt.Printf("%.0f\n", best)
}

// decode reads JSON as the API machinery does: integers are int64, the rest float64.
func decode(raw []byte) any {
	if len(raw) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(err)
	}
	return numbers(v)
}

func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = numbers(e)
		}
	case []any:
		for i, e := range v {
			v[i] = numbers(e)
		}
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	}
	return v
}

func codecs() template.FuncMap {
	return template.FuncMap{
		"toYaml": func(v any) string {
			data, err := yaml.Marshal(v)
			if err != nil {
				return ""
			}
			return strings.TrimSuffix(string(data), "\n")
		},
		"fromYaml": func(s string) map[string]any {
			m := map[string]any{}
			if err := yaml.Unmarshal([]byte(s), &m); err != nil {
				m["Error"] = err.Error()
			}
			return m
		},
		"fromYamlArray": func(s string) []any {
			a := []any{}
			if err := yaml.Unmarshal([]byte(s), &a); err != nil {
				a = []any{err.Error()}
			}
			return a
		},
		"toJson": func(v any) string {
			data, err := json.Marshal(v)
			if err != nil {
				return ""
			}
			return string(data)
		},
		"fromJson": func(s string) map[string]any {
			m := make(map[string]any)
			if err := json.Unmarshal([]byte(s), &m); err != nil {
				m["Error"] = err.Error()
			}
			return m
		},
		"fromJsonArray": func(s string) []any {
			a := []any{}
			if err := json.Unmarshal([]byte(s), &a); err != nil {
				a = []any{err.Error()}
			}
			return a
		},
		"toToml": func(v any) string {
			b := bytes.NewBuffer(nil)
			if err := toml.NewEncoder(b).Encode(v); err != nil {
				return err.Error()
			}
			return b.String()
		},
		"fromToml": func(s string) map[string]any {
			m := make(map[string]any)
			if err := toml.Unmarshal([]byte(s), &m); err != nil {
				m["Error"] = err.Error()
			}
			return m
		},
	}
}
