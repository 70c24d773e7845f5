import { problemAt, type ConfigProblem, type Path } from './problems.ts'

/**
 * The document of an API is at an address, or a file under the folder of agent.yaml: what a caller may set by PUT must not make the
 * service read any other. Links are followed, and looked at, when the file is read.
 */
export function checkSpec(spec: unknown, at: Path): ConfigProblem[] {
  // An address, also one that a variable holds: that is known when it is used.
  if (typeof spec !== 'string' || spec === '' || /^(https?:\/\/|\$\{)/i.test(spec)) return []
  if (/^[a-z][a-z0-9+.-]*:/i.test(spec)) return [problemAt(at, 'must be an http(s) address, or a file beside agent.yaml')]
  const parts = spec.split(/[/\\]/)
  if (parts[0] === '' || parts.includes('..')) return [problemAt(at, 'must be a file in the folder of agent.yaml or under it')]
  if (spec.includes('\0') || !/\.(ya?ml|json)$/i.test(spec)) return [problemAt(at, 'must be a file that ends in .yaml, .yml or .json')]
  return []
}
