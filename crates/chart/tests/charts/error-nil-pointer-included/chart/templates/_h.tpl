{{ define "x" }}
{{ include "y" . }}{{ end }}{{ define "y" }}{{ .Values.a.b.c }}{{ end }}