import { problemAt, type ConfigProblem, type Path } from './problems.ts'

/** Fields of `config` for servers at a `url`, and fields for servers started by a `command`. */
const remoteFields = ['headers', 'oauth', 'login']
const localFields = ['args', 'env', 'cwd']

/** An MCP server has either a `url` or a `command`, and only the fields that belong to the `url` or the `command`. */
export function checkMcp(config: Readonly<Record<string, unknown>>, at: Path): ConfigProblem[] {
  const has = (field: string) => config[field] !== undefined
  if (!has('url') && !has('command')) return [problemAt(at, 'must have url or command, but has neither')]
  if (has('url') && has('command')) return [problemAt([...at, 'command'], 'cannot be combined with url; remove url or command')]
  const [excludedFields, requiredField] = has('url') ? [localFields, 'command'] : [remoteFields, 'url']
  const headers = typeof config['headers'] === 'object' ? Object.keys(config['headers'] ?? {}) : []
  const both = has('oauth') && has('login') ? [problemAt([...at, 'login'], 'cannot be combined with oauth; remove login or oauth')] : []
  const setter = has('oauth') ? 'oauth' : 'login'
  const doubled = has(setter) ? headers.filter((name) => name.toLowerCase() === 'authorization') : []
  return [
    ...excludedFields.filter(has).map((field) => problemAt([...at, field], `requires ${requiredField}, which is missing`)),
    ...both,
    ...doubled.map((name) => problemAt([...at, 'headers', name], `is set by ${setter}; remove this header or ${setter}`)),
  ]
}
