import { problemAt, type ConfigProblem, type Path } from '../problems.ts'
import { isOwnVariable, referencesIn } from '../references.ts'
import { addressOf, entriesOf, hostOf, type ConfigEntry } from './entries.ts'
import { leavesOf } from './leaves.ts'

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
