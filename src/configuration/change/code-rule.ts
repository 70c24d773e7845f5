import { isDeepStrictEqual } from 'node:util'
import { formatPath, type Path } from '../problems.ts'
import { findToolType, toolTypes } from '../tool-types.ts'
import { entriesOf, type ConfigEntry } from './entries.ts'
import { ownValue } from './merge.ts'

/** Paths of fields that run a new command or new code after the change. */
export function findNewCode(before: unknown, after: unknown): string[] {
  const earlier = new Map(entriesOf(before).map((entry) => [entry.id, codeOf(entry)]))
  return entriesOf(after).flatMap((entry) => {
    const oldCode = (entry.id === undefined ? undefined : earlier.get(entry.id)) ?? {}
    const newCode = codeOf(entry)
    // Removing all code of a tool is allowed.
    if (Object.keys(newCode).length === 0) return []
    const fields = [...new Set([...Object.keys(oldCode), ...Object.keys(newCode)])]
    const changed = fields.filter((field) => !isDeepStrictEqual(oldCode[field], newCode[field]))
    return changed.map((field) => formatPath([...entry.at, 'config', field]))
  })
}

/** True if creating the tool of an entry runs a command or loads code. */
export function runsCode(tool: unknown, at: Path = ['tools', 0]): boolean {
  return Object.keys(codeOf({ value: tool, at })).length > 0
}

function codeOf({ value, at }: Pick<ConfigEntry, 'value' | 'at'>): Record<string, unknown> {
  if (at[0] !== 'tools') return {}
  const config = ownValue(value, 'config')
  // A command is code whatever the type of the tool, also where the type is unknown.
  const fields = new Set([
    ...toolTypes.mcp.codeFields,
    ...(findToolType(ownValue(value, 'type') ?? ownValue(value, 'name'))?.codeFields ?? []),
  ])
  return Object.fromEntries(
    [...fields].flatMap((field) => (ownValue(config, field) === undefined ? [] : [[field, ownValue(config, field)] as const])),
  )
}
