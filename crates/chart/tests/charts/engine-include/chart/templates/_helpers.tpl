{{- define "app.name" -}}{{ .Chart.Name | trunc 3 }}{{- end -}}
{{- define "nested" }}<{{ include "app.name" .ctx }}|{{ .n }}|{{ .nope }}>{{ end }}
{{- define "nil" }}[{{ .foo }}{{ .a }}]{{ end }}