// Calls Pyroscope's query API by the client that is generated from its definition, which is also what
// Grafana's data source for Pyroscope uses: querierv1connect, without options.
//
// pyroscope_client URL [json] reads calls from stdin, {"method", "request"} per line, and prints an
// answer per line, {"answer"} or {"code", "message"}. PYROSCOPE_KEY is the password that is sent.
// With "json" the messages are JSON instead of protobuf.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"

	"connectrpc.com/connect"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

type call struct {
	Method  string          `json:"method"`
	Request json.RawMessage `json:"request"`
}

type answer struct {
	Answer  json.RawMessage `json:"answer,omitempty"`
	Code    string          `json:"code,omitempty"`
	Message string          `json:"message,omitempty"`
}

// Grafana sends the password of a data source so.
type withPassword struct{ key string }

func (t withPassword) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.key != "" {
		r.SetBasicAuth("grafana", t.key)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// Calls a method by its name: func(context.Context, *connect.Request[T]) (*connect.Response[U], error).
func invoke(client querierv1connect.QuerierServiceClient, c call) (proto.Message, error) {
	method := reflect.ValueOf(client).MethodByName(c.Method)
	if !method.IsValid() {
		return nil, fmt.Errorf("no method %s", c.Method)
	}
	request := reflect.New(method.Type().In(1).Elem())
	message := reflect.New(request.Elem().FieldByName("Msg").Type().Elem())
	if err := protojson.Unmarshal(c.Request, message.Interface().(proto.Message)); err != nil {
		return nil, err
	}
	request.Elem().FieldByName("Msg").Set(message)
	out := method.Call([]reflect.Value{reflect.ValueOf(context.Background()), request})
	if err, failed := out[1].Interface().(error); failed {
		return nil, err
	}
	return out[0].Elem().FieldByName("Msg").Interface().(proto.Message), nil
}

func ask(client querierv1connect.QuerierServiceClient, line []byte) answer {
	var c call
	if err := json.Unmarshal(line, &c); err != nil {
		return answer{Code: "client", Message: err.Error()}
	}
	message, err := invoke(client, c)
	var failed *connect.Error
	if errors.As(err, &failed) {
		return answer{Code: failed.Code().String(), Message: failed.Message()}
	}
	if err != nil {
		return answer{Code: "client", Message: err.Error()}
	}
	text, err := protojson.Marshal(message)
	if err != nil {
		return answer{Code: "client", Message: err.Error()}
	}
	return answer{Answer: text}
}

func main() {
	var options []connect.ClientOption
	if len(os.Args) > 2 && os.Args[2] == "json" {
		options = append(options, connect.WithProtoJSON())
	}
	http := &http.Client{Transport: withPassword{os.Getenv("PYROSCOPE_KEY")}}
	client := querierv1connect.NewQuerierServiceClient(http, os.Args[1], options...)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		if err := out.Encode(ask(client, lines.Bytes())); err != nil {
			panic(err)
		}
	}
}
