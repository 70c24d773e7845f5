import { isDeepStrictEqual } from 'node:util'
import { formatPath, type Path, problemAt, type ConfigProblem } from '../problems.ts'
import { findToolType, toolTypes } from '../tool-types.ts'
import { entriesOf, type ConfigEntry, addressOf, hostOf, leavesOf } from './entries.ts'
import { ownValue, type ConfigData } from './merge.ts'
import { isOwnVariable, referencesIn } from '../references.ts'
import { Lexer } from 'yaml'
import { fieldsOf } from '../../json/shape.ts'

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

/**
 * Finds permissions that a change adds to a role although the caller lacks them, as `role: permission`. A caller with `config.write` could
 * otherwise give its own role every permission.
 */
export function findForeignGrants(before: unknown, after: unknown, permissions: ReadonlySet<string>): string[] {
  const rolesBefore = rolesOf(before)
  return Object.entries(rolesOf(after)).flatMap(([role, granted]) => {
    const earlier = new Set(listOf(ownValue(rolesBefore, role)))
    const added = listOf(granted).filter((permission) => !earlier.has(permission) && !permissions.has(String(permission)))
    return added.map((permission) => `access.roles.${role}: ${String(permission)}`)
  })
}

function rolesOf(data: unknown): Record<string, unknown> {
  return fieldsOf(ownValue(ownValue(data, 'access'), 'roles'))
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/** The uses of environment variables: names, each with the address of an entry that uses the variable. */
export type VariableUses = ReadonlySet<string>

/** The uses of variables in the configurations. */
export function variableUsesOf(...configurations: readonly unknown[]): VariableUses {
  return new Set(
    configurations.flatMap((data) => entriesOf(data).flatMap((entry) => namesIn(entry).map(({ name, at }) => keyOf(name, entry, at)))),
  )
}

/**
 * Finds variables that a change must not use. A caller with `config.write` need not know the values of variables, and must not get the values
 * by sending them to the caller's own server. So an already used variable may be used only for the same address.
 */
export function findForeignReferences(after: unknown, used: VariableUses, allowed: readonly string[]): ConfigProblem[] {
  return entriesOf(after).flatMap((entry) =>
    namesIn(entry).flatMap(({ name, at }) => {
      if (isOwnVariable(name)) return [problemAt(at, `\${${name}} belongs to the service and cannot be used in the configuration`)]
      if (allowed.includes(name) || used.has(keyOf(name, entry, at))) return []
      return [
        problemAt(
          at,
          `\${${name}} cannot be used here: the stored file does not use the variable for this address, and CONFIG_ENV does not list it`,
        ),
      ]
    }),
  )
}

function namesIn(entry: ConfigEntry) {
  return [...leavesOf(entry)].flatMap(({ value, at }) =>
    typeof value === 'string' ? referencesIn(value).map((name) => ({ name, at })) : [],
  )
}

function keyOf(name: string, entry: ConfigEntry, at: Path): string {
  const address = Object.entries({ ...addressOf(entry), host: hostOf(entry, at) })
  return `${name} ${entry.at[0]} ${JSON.stringify(address.sort(([a], [b]) => (a < b ? -1 : 1)))}`
}

/** Limits far above real configurations. A larger configuration would be compared and written for minutes and block the process. */
const maxValues = 5000
const maxCharacters = 1_000_000
/** A value of a block takes 9 tokens. Parsing takes some 10 µs for each. */
const maxTokens = 60_000

/** Checks the size of a YAML text before it is parsed. */
export function findTooLargeText(text: string): ConfigProblem | undefined {
  if (text.length > maxCharacters) return problemAt([], `has more than ${maxCharacters} characters`)
  let tokens = 0
  for (const _ of new Lexer().lex(text)) if (++tokens > maxTokens) return problemAt([], `has more than ${maxTokens} YAML tokens`)
  return undefined
}

/** Checks the size of data without cycles. */
export function findTooLarge(data: ConfigData): ConfigProblem[] {
  const pending: unknown[] = [data]
  let characters = 0
  for (let values = 0; pending.length > 0; values++) {
    if (values + pending.length > maxValues) return [problemAt([], `has more than ${maxValues} values`)]
    const value = pending.pop()
    if (typeof value === 'string') characters += value.length
    else if (typeof value === 'object' && value !== null) {
      const inner: unknown[] = Array.isArray(value) ? value : Object.values(value)
      if (pending.length + inner.length > maxValues) return [problemAt([], `has more than ${maxValues} values`)]
      pending.push(...inner)
      if (!Array.isArray(value)) for (const key of Object.keys(value)) characters += key.length
    }
    if (characters > maxCharacters) return [problemAt([], `has more than ${maxCharacters} characters`)]
  }
  return []
}
