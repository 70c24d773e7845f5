import { fieldsOf } from '../../json/shape.ts'

/**
 * Inputs of Claude's calls on remote servers. Claude streams them in pieces behind the begin of a call, and the package of the SDK drops the
 * pieces (4.0.105), so they are read from the events of the wire:
 * https://docs.claude.com/en/docs/build-with-claude/streaming
 */
export class StreamedInputs {
  /** Calls whose input is still arriving, by the index of their block. */
  private readonly open = new Map<unknown, { id: string; text: string }>()

  /** Whether the input of a call is still arriving. */
  has(id: string): boolean {
    return this.open.values().some((call) => call.id === id)
  }

  /** Accepts an event of the wire. Returns the id and the JSON of an input that is complete. */
  accept(event: unknown): { id: string; text: string } | undefined {
    const { type, index, content_block: block, delta } = fieldsOf(event)
    const { type: kind, id, input } = fieldsOf(block)
    const isEmpty = Object.keys(fieldsOf(input)).length === 0
    if (type === 'content_block_start') this.open.delete(index)
    if (type === 'content_block_start' && kind === 'mcp_tool_use' && isEmpty) this.open.set(index, { id: String(id), text: '' })
    const call = this.open.get(index)
    const { partial_json: piece } = fieldsOf(delta)
    if (call && typeof piece === 'string') call.text += piece
    if (type !== 'content_block_stop' || !call) return undefined
    this.open.delete(index)
    return call
  }
}
