// Renders deploy/chart for each file of test/chart/cases like Helm 3, with Go templates, sprig and Helm's own functions, on machines without
// Helm. On Debian, install golang-go, golang-github-masterminds-sprig-dev and golang-gopkg-yaml.v3-dev, then run:
//
//	GO111MODULE=off GOPATH=/usr/share/gocode go run test/chart/render.go
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

const chart, cases, rendered = "deploy/chart", "test/chart/cases", "test/chart/rendered"

func main() {
	files, err := filepath.Glob(cases + "/*.yaml")
	check(err)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		text, err := render(merge(load(chart+"/values.yaml"), load(file)))
		if err != nil {
			words := regexp.MustCompile(`.*error calling \w+: `).ReplaceAllString(err.Error(), "")
			text = "# refused: " + words + "\n"
		}
		head := "# Made by test/chart/render.go from templates, values and case " + sum(file) + "\n"
		check(os.WriteFile(rendered+"/"+name+".yaml", []byte(head+text), 0o644))
		fmt.Println(name)
	}
}

// sum hashes every file that the result depends on.
func sum(file string) string {
	files, err := filepath.Glob(chart + "/templates/*")
	check(err)
	files = append(files, chart+"/Chart.yaml", chart+"/values.yaml", file)
	sort.Strings(files)
	hash := sha256.New()
	for _, one := range files {
		text, err := os.ReadFile(one)
		check(err)
		hash.Write(text)
	}
	return fmt.Sprintf("%x", hash.Sum(nil))
}

func render(values map[string]any) (string, error) {
	root := template.New("chart").Option("missingkey=zero")
	functions := sprig.TxtFuncMap()
	delete(functions, "env")
	delete(functions, "expandenv")
	functions["toYaml"] = toYaml
	functions["include"] = func(name string, data any) (string, error) {
		var out bytes.Buffer
		err := root.ExecuteTemplate(&out, name, data)
		return strings.ReplaceAll(out.String(), "<no value>", ""), err
	}
	functions["required"] = func(message string, value any) (any, error) {
		if value == nil || value == "" {
			return nil, errors.New(message)
		}
		return value, nil
	}
	functions["fail"] = func(message string) (string, error) { return "", errors.New(message) }
	root.Funcs(functions)
	files, err := filepath.Glob(chart + "/templates/*")
	check(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(err)
		if _, err := root.New(file).Parse(string(text)); err != nil {
			return "", err
		}
	}
	meta := load(chart + "/Chart.yaml")
	data := map[string]any{
		"Values":  values,
		"Chart":   map[string]any{"Name": meta["name"], "Version": meta["version"], "AppVersion": meta["appVersion"]},
		"Release": map[string]any{"Name": "demo", "Namespace": "agents", "Service": "Helm", "IsInstall": true, "Revision": 1},
	}
	var all strings.Builder
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), "_") {
			continue
		}
		var out bytes.Buffer
		if err := root.ExecuteTemplate(&out, file, data); err != nil {
			return "", err
		}
		text := strings.TrimSpace(strings.ReplaceAll(out.String(), "<no value>", ""))
		if strings.HasSuffix(file, ".txt") {
			text = "# " + strings.ReplaceAll(text, "\n", "\n# ")
		}
		if text != "" {
			all.WriteString("---\n# " + filepath.Base(file) + "\n" + text + "\n")
		}
	}
	return all.String(), nil
}

func toYaml(value any) (string, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := encoder.Encode(value)
	return strings.TrimSuffix(out.String(), "\n"), err
}

func load(file string) map[string]any {
	text, err := os.ReadFile(file)
	check(err)
	values := map[string]any{}
	check(yaml.Unmarshal(text, &values))
	return floats(values).(map[string]any)
}

// floats converts integers to floats, because Helm reads YAML through JSON.
func floats(value any) any {
	switch one := value.(type) {
	case int:
		return float64(one)
	case []any:
		for at := range one {
			one[at] = floats(one[at])
		}
	case map[string]any:
		for name := range one {
			one[name] = floats(one[name])
		}
	}
	return value
}

func merge(into, from map[string]any) map[string]any {
	for name, value := range from {
		below, isMap := value.(map[string]any)
		old, wasMap := into[name].(map[string]any)
		if isMap && wasMap {
			merge(old, below)
		} else if value == nil {
			delete(into, name)
		} else {
			into[name] = value
		}
	}
	return into
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
