import { entriesOf } from './change/entries.ts'
import { isSecretNode, leavesOf, type SchemaNode } from './change/leaves.ts'
import { problemAt, type ConfigProblem } from './problems.ts'
import { isOwnVariable, referencesIn, type Environment } from './references.ts'

/** Finds every `${NAME}` in a secret or an address whose variable is unset or belongs to the service. */
export function findUnsetVariables(config: unknown, environment: Environment): ConfigProblem[] {
  const nodes = entriesOf(config).flatMap((entry) => [...leavesOf(entry)].filter(isResolved))
  return nodes.flatMap(({ value, at }) =>
    [...new Set(referencesIn(String(value)))].flatMap((name) => {
      if (isOwnVariable(name)) return [problemAt(at, `\${${name}} belongs to the service and cannot be used in the configuration`)]
      return environment[name] ? [] : [problemAt(at, `the environment variable ${name} is not set`)]
    }),
  )
}

/** True if `${NAME}` is resolved in the value. Elsewhere `${NAME}` stays literal. */
function isResolved(node: SchemaNode): boolean {
  const isAddress = node.schemas.some(({ pattern }) => typeof pattern === 'string' && pattern.includes('\\$\\{'))
  return isSecretNode(node) || isAddress || node.at.at(-1) === 'spec'
}
