import { problemAt, type ConfigProblem, type Path } from '../problems.ts'
import { isOwnVariable, referencesIn } from '../references.ts'
import { addressOf, entriesOf, hostOf, type ConfigEntry } from './entries.ts'
import { leavesOf } from './leaves.ts'

/** Where environment variables go: each name with the address of an entry that uses it. */
export type VariableUses = ReadonlySet<string>

/** What the given configurations use. */
export function variableUsesOf(...configurations: readonly unknown[]): VariableUses {
  return new Set(
    configurations.flatMap((data) => entriesOf(data).flatMap((entry) => namesIn(entry).map(({ name, at }) => keyOf(name, entry, at)))),
  )
}

/**
 * Names of environment variables that a change may not bring in. Who may change the configuration need not know what the variables hold,
 * and must not learn it by sending them to a server of their own: a name that is used already may be used for the same address alone.
 */
export function findForeignReferences(after: unknown, used: VariableUses, allowed: readonly string[]): ConfigProblem[] {
  return entriesOf(after).flatMap((entry) =>
    namesIn(entry).flatMap(({ name, at }) => {
      if (isOwnVariable(name)) return [problemAt(at, `\${${name}} belongs to the service and can't be used in the configuration`)]
      if (allowed.includes(name) || used.has(keyOf(name, entry, at))) return []
      return [
        problemAt(
          at,
          `\${${name}} can't be brought in here: the stored file does not use it for this address, and CONFIG_ENV does not list it`,
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
