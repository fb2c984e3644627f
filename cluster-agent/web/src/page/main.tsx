import { Component, render, type ComponentChildren } from "preact";
import { App } from "./app";
import "./style.css";
import "./comparison/compare.css";
import "./details/details.css";
import "./start/start.css";
import "./table/lines.css";
import "./table/source.css";
import "./opened/opened.css";
import "./notes/notes.css";
import "./narrow.css";

/** Shows an error that a component has thrown, instead of an empty page. */
class Guard extends Component<{ children: ComponentChildren }, { error: string }> {
  state = { error: "" };
  componentDidCatch(e: Error): void {
    this.setState({ error: e.message || String(e) });
  }
  render() {
    if (!this.state.error) return this.props.children;
    return (
      <main class="empty">
        <h1>The page failed</h1>
        <p>{this.state.error}</p>
        <a class="button primary" href={location.pathname}>
          Start again
        </a>
      </main>
    );
  }
}

const root = document.getElementById("app");
if (root)
  render(
    <Guard>
      <App />
    </Guard>,
    root,
  );
