/** A balance; or "before" and "after" where the balance before or after the group is not known. */
export type Node = bigint | "before" | "after";

/**
 * Where the trails through a graph's edges begin and end, while edges are added. Its parts, which no edge
 * connects, are kept as a disjoint-set forest: to find them anew for each edge took 5 s for 1,600 bills.
 */
export class TrailEnds {
  /** For each balance, how many more edges begin there than end there. */
  readonly #surplus = new Map<Node, number>();
  /** For each balance, another one of its part; itself where it stands for its part. */
  readonly #parent = new Map<Node, Node>();
  /** For each part, how many of its balances have a surplus other than 0. */
  readonly #uneven = new Map<Node, number>();

  constructor(edges: Iterable<{ readonly from: Node; readonly to: Node }>) {
    for (const { from, to } of edges) this.add(from, to);
  }

  add(from: Node, to: Node): void {
    this.#change(from, 1);
    this.#change(to, -1);
    this.#connect(from, to);
  }

  get balances(): number {
    return this.#surplus.size;
  }

  /** Where trails begin, as often as trails begin there. */
  begins(): readonly Node[] {
    return [...this.#surplus].flatMap(([node, more]) => Array<Node>(Math.max(0, more)).fill(node));
  }

  /** The known balances where trails end. */
  ends(): readonly bigint[] {
    return [...this.#surplus].flatMap(([node, more]) =>
      more < 0 && typeof node === "bigint" ? [node] : [],
    );
  }

  /**
   * Whether a trail begins at a balance, or no trail passes it: everywhere in its ring as many edges begin
   * as end.
   */
  isOpen(node: Node): boolean {
    const surplus = this.#surplus.get(node);
    if (surplus === undefined) return false;
    return surplus > 0 || this.#uneven.get(this.#partOf(node)) === 0;
  }

  #change(node: Node, by: number): void {
    if (!this.#parent.has(node)) this.#parent.set(node, node);
    const before = this.#surplus.get(node) ?? 0;
    this.#surplus.set(node, before + by);
    const part = this.#partOf(node);
    const uneven = (before + by === 0 ? 0 : 1) - (before === 0 ? 0 : 1);
    this.#uneven.set(part, (this.#uneven.get(part) ?? 0) + uneven);
  }

  #connect(from: Node, to: Node): void {
    const [part, other] = [this.#partOf(from), this.#partOf(to)];
    if (part === other) return;
    this.#parent.set(other, part);
    this.#uneven.set(part, (this.#uneven.get(part) ?? 0) + (this.#uneven.get(other) ?? 0));
  }

  /** The balance that stands for the part. Shortens the way for the next call. */
  #partOf(node: Node): Node {
    let at = node;
    for (;;) {
      const above = this.#parent.get(at) ?? at;
      if (above === at) return at;
      this.#parent.set(at, this.#parent.get(above) ?? above);
      at = above;
    }
  }
}
