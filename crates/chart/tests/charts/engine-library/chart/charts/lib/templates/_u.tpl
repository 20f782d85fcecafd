{{ define "lib.cm" }}kind: ConfigMap
metadata:
  name: {{ .Release.Name }}{{ end }}