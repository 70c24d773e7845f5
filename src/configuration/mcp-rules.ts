import { problemAt, type ConfigProblem, type Path } from './problems.ts'

/** What of the `config` of an MCP server goes with an address, and what with a command. */
const remoteFields = ['headers', 'oauth']
const localFields = ['args', 'env', 'cwd']

/** A server is reached at an address or started by a command: one of the two, and nothing of the other. */
export function checkMcp(config: Readonly<Record<string, unknown>>, at: Path): ConfigProblem[] {
  const has = (field: string) => config[field] !== undefined
  if (!has('url') && !has('command')) return [problemAt(at, 'has neither url nor command; a server needs one of them')]
  if (has('url') && has('command')) return [problemAt([...at, 'command'], 'can not stand beside url; a server has one of them')]
  const [strange, other] = has('url') ? [localFields, 'command'] : [remoteFields, 'url']
  const headers = typeof config['headers'] === 'object' ? Object.keys(config['headers'] ?? {}) : []
  const doubled = has('oauth') ? headers.filter((name) => name.toLowerCase() === 'authorization') : []
  return [
    ...strange.filter(has).map((field) => problemAt([...at, field], `needs ${other}, and there is none here`)),
    ...doubled.map((name) => problemAt([...at, 'headers', name], 'is what oauth sets; leave one of them out')),
  ]
}
