{{- define "quietswap.image" }}
{{- if .Values.digest }}{{ .Values.image }}@{{ .Values.digest }}
{{- else }}{{ .Values.image }}:{{ .Values.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- /* Where the pods run and as whom: members of a pod's spec that nobody needs on a plain cluster. */}}
{{- define "quietswap.place" }}
{{- $place := dict }}
{{- with .Values.serviceAccount }}{{ $_ := set $place "serviceAccountName" . }}{{ end }}
{{- range $name := list "imagePullSecrets" "nodeSelector" "affinity" "tolerations" }}
{{- with index $.Values $name }}{{ $_ := set $place $name . }}{{ end }}
{{- end }}
{{- if $place }}{{ toYaml $place }}{{ end }}
{{- end }}
