import { entriesOf } from './change/entries.ts'
import { isSecretNode, leavesOf, type SchemaNode } from './change/leaves.ts'
import { problemAt, type ConfigProblem } from './problems.ts'
import { isOwnVariable, referencesIn, type Environment } from './references.ts'

/** Every `${NAME}` in a secret or an address that the environment does not have, or that no configuration may use. */
export function findUnsetVariables(config: unknown, environment: Environment): ConfigProblem[] {
  const places = entriesOf(config).flatMap((entry) => [...leavesOf(entry)].filter(isResolved))
  return places.flatMap(({ value, at }) =>
    [...new Set(referencesIn(String(value)))].flatMap((name) => {
      if (isOwnVariable(name)) return [problemAt(at, `\${${name}} belongs to the service and can't be used in the configuration`)]
      return environment[name] ? [] : [problemAt(at, `the environment variable ${name} is not set`)]
    }),
  )
}

/** In other texts `${NAME}` stands for itself. */
function isResolved(place: SchemaNode): boolean {
  const isAddress = place.schemas.some(({ pattern }) => typeof pattern === 'string' && pattern.includes('\\$\\{'))
  return isSecretNode(place) || isAddress || place.at.at(-1) === 'spec'
}
