// A component that is drawn again only when one of its properties is another value.

import { Component, h, type ComponentType, type VNode } from "preact";

export function memo<P extends object>(inner: ComponentType<P>): ComponentType<P> {
  return class extends Component<P> {
    shouldComponentUpdate(next: Readonly<P>): boolean {
      const old = this.props as Record<string, unknown>;
      const now = next as Record<string, unknown>;
      return Object.keys({ ...old, ...now }).some(
        (k) => typeof now[k] !== "function" && old[k] !== now[k],
      );
    }
    render(): VNode {
      return h(inner as ComponentType<object>, this.props);
    }
  };
}
