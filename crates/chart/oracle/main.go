// The oracle is Helm as a library, for the bench and the differential fuzz of crates/chart. It takes the archive
// of a chart and prints renders per second, of the chart that is loaded and of one that is loaded each time; with
// -template it prints what `helm template` prints of each case that it is given. It is no part of the build.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	dependencies "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
)

func main() {
	window := flag.Duration("bench", 500*time.Millisecond, "how long one measurement takes")
	cases := flag.Bool("template", false, "read folders of cases, print what Helm prints of them")
	flag.Parse()
	if *cases {
		if err := serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := run(flag.Arg(0), *window); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(path string, window time.Duration) error {
	archive, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	loaded, err := loader.LoadArchive(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	cached, err := rate(window, func() error { return render(loaded) })
	if err != nil {
		return err
	}
	whole, err := rate(window, func() error {
		fresh, err := loader.LoadArchive(bytes.NewReader(archive))
		if err != nil {
			return err
		}
		return render(fresh)
	})
	if err != nil {
		return err
	}
	fmt.Println(cached, whole)
	return nil
}

// render is what Helm does between loading a chart and sorting what it prints.
func render(chart *v2.Chart) error {
	values := map[string]any{}
	if err := dependencies.ProcessDependencies(chart, values); err != nil {
		return err
	}
	options := common.ReleaseOptions{Name: "site", Namespace: "web", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, options, common.DefaultCapabilities)
	if err != nil {
		return err
	}
	_, err = engine.Render(chart, all)
	return err
}

// rate is the best of three windows, in calls per second.
func rate(window time.Duration, call func() error) (float64, error) {
	best := 0.0
	for range 3 {
		start, count := time.Now(), 0
		for time.Since(start) < window {
			if err := call(); err != nil {
				return 0, err
			}
			count++
		}
		best = max(best, float64(count)/time.Since(start).Seconds())
	}
	return best, nil
}
