import type { JsonValue } from '../agent/messages.ts'
import { toStableJson } from '../configuration/parse.ts'
import type { Example } from './example.ts'

/** A call that changes something. */
export interface Write {
  tool: string
  tool_input: JsonValue
  /** True for a failed call, which no replay misses. */
  isFailed?: boolean
}

/** The difference between the writes of two runs. */
export interface Effects {
  same: number
  added: Write[]
  removed: Write[]
  /** Writes of the same tool with other arguments. */
  changed: { tool: string; before: JsonValue; after: JsonValue }[]
}

/** The writes that the recorded run has made, with the arguments that were used. */
export function recordedWrites({ recording }: Pick<Example, 'recording'>): Write[] {
  return recording.flatMap(({ tool, tool_input: input, effect, status, decision }): Write[] => {
    if (effect !== 'write' || status === 'unknown' || decision?.decision === 'reject') return []
    return [{ tool, tool_input: decision?.input ?? input, ...(status === 'error' && { isFailed: true }) }]
  })
}

/** Compares writes by tool and arguments, whatever their order. */
export function compareWrites(before: readonly Write[], after: readonly Write[]): Effects {
  const missing = Map.groupBy(before, keyOf)
  const added = after.filter((write) => missing.get(keyOf(write))?.shift() === undefined)
  const same = after.length - added.length
  const removed = [...missing.values()].flat().filter(({ isFailed }) => !isFailed)
  const changed: Effects['changed'] = []
  const rest = added.filter((write) => {
    const at = removed.findIndex(({ tool }) => tool === write.tool)
    const [earlier] = at < 0 ? [] : removed.splice(at, 1)
    if (earlier) changed.push({ tool: write.tool, before: earlier.tool_input, after: write.tool_input })
    return earlier === undefined
  })
  return { same, added: rest.map(toWrite), removed: removed.map(toWrite), changed }
}

function keyOf({ tool, tool_input: input }: Write): string {
  return toStableJson([tool, input])
}

function toWrite({ tool, tool_input: input }: Write): Write {
  return { tool, tool_input: input }
}
