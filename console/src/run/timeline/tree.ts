/** Fields of a span that the tree needs. */
interface TreeSpan {
  id: string
  parent_id: string | null
  started_at: string
}

/** A span in its place of the tree. */
export interface Node<S> {
  span: S
  depth: number
  children: Node<S>[]
}

/** Puts spans under parents, ordered by start. A span with a missing parent becomes a root, so that every span is shown. */
export function toTree<S extends TreeSpan>(spans: readonly S[]): Node<S>[] {
  const nodes = new Map(spans.map((span): [string, Node<S>] => [span.id, { span, depth: 0, children: [] }]))
  const roots: Node<S>[] = []
  for (const node of nodes.values()) {
    const { parent_id: parentId, id } = node.span
    const parent = parentId === null || parentId === id ? undefined : nodes.get(parentId)
    ;(parent?.children ?? roots).push(node)
  }
  const order = (siblings: Node<S>[]): Node<S>[] => siblings.sort((a, b) => compare(a.span.started_at, b.span.started_at))
  const pending = order(roots)
  const tree = [...pending]
  for (let node = pending.pop(); node; node = pending.pop()) {
    for (const child of order(node.children)) {
      child.depth = node.depth + 1
      pending.push(child)
    }
  }
  return tree
}

/** ISO times of one length compare as texts. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** The rows of the tree from top to bottom, without what is below closed spans. */
export function toRows<S extends TreeSpan>(tree: readonly Node<S>[], closed: ReadonlySet<string>): Node<S>[] {
  const rows: Node<S>[] = []
  const pending = tree.toReversed()
  for (let node = pending.pop(); node; node = pending.pop()) {
    rows.push(node)
    if (!closed.has(node.span.id)) pending.push(...node.children.toReversed())
  }
  return rows
}
