import { problemAt, type ConfigProblem, type Path } from './problems.ts'

/**
 * The OpenAPI document is at an address, or is a file under the folder of agent.yaml: a PUT by a caller must not make the service read other
 * files. Symbolic links are checked when the file is read.
 */
export function checkSpec(spec: unknown, at: Path): ConfigProblem[] {
  // A variable holds an address, which is checked at the time of use.
  if (typeof spec !== 'string' || spec === '' || /^(https?:\/\/|\$\{)/i.test(spec)) return []
  if (/^[a-z][a-z0-9+.-]*:/i.test(spec)) return [problemAt(at, 'must be an http(s) address, or a file beside agent.yaml')]
  const parts = spec.split(/[/\\]/)
  if (parts[0] === '' || parts.includes('..')) return [problemAt(at, 'must be a file in the folder of agent.yaml or under it')]
  if (spec.includes('\0') || !/\.(ya?ml|json)$/i.test(spec)) return [problemAt(at, 'must be a file that ends in .yaml, .yml or .json')]
  return []
}
