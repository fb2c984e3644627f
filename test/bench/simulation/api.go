package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// As much of an API server as watching pods takes: lists in pages, and a watch in which the status of
// a pod is sometimes written again, as kubelets do.
type api struct {
	cluster *cluster
	podPort int
	version atomic.Int64
}

const (
	listVersion    = 1_000_000
	changesASecond = 5
	bookmarkEvery  = 20 * time.Second
)

func newAPI(c *cluster, podPort int) http.Handler {
	a := &api{cluster: c, podPort: podPort}
	a.version.Store(listVersion)
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1/pods", a.pods)
	return mux
}

// The letters of Kubernetes' random names, chosen so that they form no words.
const nameLetters = "bcdfghjklmnpqrstvwxz2456789"

func suffix(i int) string {
	var name [5]byte
	for at := range name {
		name[at] = nameLetters[i%len(nameLetters)]
		i /= len(nameLetters)
	}
	return string(name[:])
}

type object = map[string]any

// In the order in which an API server writes them.
type list struct {
	Kind       string   `json:"kind"`
	APIVersion string   `json:"apiVersion"`
	Metadata   object   `json:"metadata"`
	Items      []object `json:"items"`
}

type event struct {
	Type   string `json:"type"`
	Object object `json:"object"`
}

// About as large as real pods: 5 KB, most of which the agent ignores.
func (a *api) pod(i int, version int64) object {
	application := a.cluster.app(i)
	replicaSet := fmt.Sprintf("%s-%x", application.name, 0x5f6b7c8d)
	name := replicaSet + "-" + suffix(i)
	created := "2026-11-20T08:00:00Z"
	var env []object
	for _, n := range []string{"DATABASE_URL", "CACHE_ADDRESS", "LOG_LEVEL", "REGION", "FEATURE_FLAGS", "QUEUE_NAME", "OTEL_ENDPOINT", "POD_NAME"} {
		env = append(env, object{"name": n, "value": "a value as long as they usually are, " + n})
	}
	condition := func(t string) object {
		return object{"type": t, "status": "True", "lastProbeTime": nil, "lastTransitionTime": created}
	}
	managed := func(manager string) object {
		return object{"manager": manager, "operation": "Update", "apiVersion": "v1", "time": created, "fieldsType": "FieldsV1",
			"fieldsV1": object{"f:metadata": object{"f:annotations": object{".": object{}, "f:coroot.com/profile-scrape": object{}},
				"f:labels": object{"f:app": object{}, "f:pod-template-hash": object{}}},
				"f:spec": object{"f:containers": object{`k:{"name":"server"}`: object{".": object{}, "f:env": object{}, "f:image": object{}, "f:name": object{},
					"f:ports": object{}, "f:resources": object{}, "f:volumeMounts": object{}, "f:terminationMessagePath": object{}}}, "f:dnsPolicy": object{}}}}
	}
	return object{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": object{
			"name": name, "namespace": application.namespace, "generateName": replicaSet + "-",
			"uid":             fmt.Sprintf("c1c9bd4e-92e8-4d53-8f7c-%012x", i),
			"resourceVersion": strconv.FormatInt(version, 10), "creationTimestamp": created,
			"labels": object{"app": application.name, "pod-template-hash": "5f6b7c8d", "app.kubernetes.io/name": application.name, "team": application.namespace},
			"annotations": object{"coroot.com/profile-scrape": "true", "coroot.com/profile-port": strconv.Itoa(a.podPort),
				"prometheus.io/scrape": "true", "kubernetes.io/config.seen": created},
			"ownerReferences": []object{{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": replicaSet, "uid": "0a1b2c3d", "controller": true, "blockOwnerDeletion": true}},
			"managedFields":   []object{managed("kube-controller-manager"), managed("kubelet")},
		},
		"spec": object{
			"nodeName": fmt.Sprintf("node-%d", i%100), "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "serviceAccountName": "default",
			"containers": []object{{
				"name": "server", "image": "registry.example.com/acme/" + application.name + ":1.42.0",
				"ports": []object{{"name": "http", "containerPort": a.podPort, "protocol": "TCP"}},
				"env":   env,
				"resources": object{"limits": object{"cpu": "2", "memory": "1Gi"},
					"requests": object{"cpu": "200m", "memory": "256Mi"}},
				"volumeMounts": []object{{"name": "kube-api-access-x7k2p", "readOnly": true, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}},
				"livenessProbe": object{"httpGet": object{"path": "/healthz", "port": "http", "scheme": "HTTP"},
					"periodSeconds": 10, "timeoutSeconds": 1},
			}},
			"tolerations": []object{{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}},
		},
		"status": object{
			"phase": "Running", "podIP": podIP(i), "podIPs": []object{{"ip": podIP(i)}}, "hostIP": "10.0.0.1", "startTime": created, "qosClass": "Burstable",
			"conditions": []object{condition("Initialized"), condition("Ready"), condition("ContainersReady"), condition("PodScheduled")},
			"containerStatuses": []object{{"name": "server", "ready": true, "started": true, "restartCount": 0,
				"state":       object{"running": object{"startedAt": created}},
				"image":       "registry.example.com/acme/" + application.name + ":1.42.0",
				"containerID": fmt.Sprintf("containerd://%064x", i)}},
		},
	}
}

func (a *api) pods(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if watch := r.URL.Query().Get("watch"); watch == "1" || watch == "true" {
		a.watch(w, r)
		return
	}
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || limit < 1 {
		limit = a.cluster.pods
	}
	begin, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	end := min(begin+limit, a.cluster.pods)
	meta := object{"resourceVersion": strconv.Itoa(listVersion)}
	if end < a.cluster.pods {
		meta["continue"] = strconv.Itoa(end)
		meta["remainingItemCount"] = a.cluster.pods - end
	}
	items := []object{}
	for i := begin; i < end; i++ {
		items = append(items, a.pod(i, listVersion))
	}
	json.NewEncoder(w).Encode(list{"PodList", "v1", meta, items})
}

func (a *api) watch(w http.ResponseWriter, r *http.Request) {
	out := json.NewEncoder(w)
	flush := w.(http.Flusher)
	flush.Flush()
	bookmarks := time.NewTicker(bookmarkEvery)
	defer bookmarks.Stop()
	changes := time.NewTicker(time.Second / changesASecond)
	defer changes.Stop()
	for {
		var err error
		select {
		case <-r.Context().Done():
			return
		case <-bookmarks.C:
			err = out.Encode(event{"BOOKMARK", object{"kind": "Pod", "apiVersion": "v1",
				"metadata": object{"resourceVersion": strconv.FormatInt(a.version.Load(), 10)}}})
		case <-changes.C:
			err = out.Encode(event{"MODIFIED", a.pod(rand.Intn(a.cluster.pods), a.version.Add(1))})
		}
		if err != nil {
			return
		}
		flush.Flush()
	}
}
