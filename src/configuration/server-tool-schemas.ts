import { Type } from 'typebox'
import {
  Address,
  Effect,
  Headers,
  maxEntries,
  maxSecrets,
  optional,
  Secret,
  secretsOf,
  strict,
  optionalFlag,
  optionalText,
} from './schema-parts.ts'
import { problemAt, type ConfigProblem, type Path } from './problems.ts'

/** The schemas of `config` of the tool types that call servers: `mcp`, `openapi`, `web_page` and `http_request`. */

/** The options of an object schema without further properties. */
export function strictObject(description: string) {
  return { ...strict, description }
}

const Effects = Type.Record(Type.String(), Effect, {
  maxProperties: 2000,
  description:
    'The effect of single tools, by name without the name of the entry: `read` or `write`. Default: the effect that the tool declares.',
})
const Selector = Type.String({ minLength: 1, maxLength: 500 })

function selectors(description: string) {
  return optional(Type.Array(Selector, { maxItems: maxEntries, description }))
}

export const Host = Type.String({
  pattern: '^(\\*\\.)?[A-Za-z0-9.-]+(:[0-9]+)?$|^\\[[0-9a-fA-F:.]+\\](:[0-9]+)?$',
  description: 'A host without scheme and path: "example.com", "*.example.com" for all under it, "example.com:8443".',
})

export const Hosts = Type.Array(Host, {
  maxItems: maxEntries,
  description:
    'The hosts that requests may reach, such as `example.com`, `*.example.com` and `example.com:8443`. Default: every public host.',
})

const OAuth = Type.Object(
  {
    client_id: Type.String({ minLength: 1, description: 'The id of this service as a client of the authorization server.' }),
    client_secret: Type.String({ ...Secret, description: 'The secret of the client: a value, or `${NAME}` for an environment variable.' }),
    scope: optionalText('The scopes of tokens, separated by spaces. Default: as the server decides.'),
    token_url: optionalText('The address that issues tokens. Default: as the server of the tools announces.', Address),
    resource: optionalText(
      'The audience of tokens (RFC 8707); empty if the authorization server refuses the parameter. Default: the address of the server.',
    ),
  },
  { ...strict, description: 'Client credentials (RFC 6749, 4.4), with which the service gets tokens for the server.' },
)

const Login = Type.Object(
  {
    client_id: optionalText('The id of this service as a client. Default: the service registers itself (RFC 7591).', { minLength: 1 }),
    client_secret: optionalText('The secret of the client: a value, or `${NAME}` for an environment variable. Default: none.', Secret),
    client_metadata_url: optionalText(
      'The https address of a client id metadata document, used as the id of the client where the server supports it.',
      { pattern: '^https://[^/]+/.+' },
    ),
    issuer: optionalText(
      'The issuer of the authorization server; a login at another one is refused. Required with `client_secret` if its origin is not that of `url`.',
      Address,
    ),
    scope: optionalText('The scopes of the login, separated by spaces. Default: as the server decides.', { minLength: 1 }),
  },
  { ...strict, description: 'How `agent-core tool login` logs a person in, whose account all callers of the entry then use.' },
)

const requestsOfServer = (description: string) => optional(Type.Enum(['allow', 'deny'], { description }))

export const McpConfig = Type.Object(
  {
    url: optionalText('The address of the server; may contain `${NAME}`. Either `url` or `command`.', Address),
    headers: optional(Headers),
    oauth: optional(OAuth),
    login: optional(Login),
    command: optionalText('The command that starts the server on this machine; messages go through standard input and output.', {
      minLength: 1,
    }),
    args: optional(Type.Array(Type.String(), { maxItems: maxEntries, description: 'The arguments of the command. Default: none.' })),
    env: optional(secretsOf('Environment variables of the command, by name. Values are secrets and may contain `${NAME}`.')),
    cwd: optionalText('The folder in which the command runs, relative to agent.yaml. Default: its folder.', { minLength: 1 }),
    include: selectors('The tools that are used: names, or patterns with "*". Default: all tools of the server.'),
    exclude: selectors('The tools that are not used, even if `include` names them: names, or patterns with "*". Default: none.'),
    effects: optional(Effects),
    pin: optionalFlag('Whether a tool whose description or schema changes is not used until the change is accepted. Default: false.'),
    resources: optionalFlag(
      'Whether the agent gets `<name>__list_resources` and `<name>__read_resource` for the resources of the server. Default: false.',
    ),
    sampling: requestsOfServer(
      "Whether the server may ask the model of the run during a call, at the expense of the run and without the run's messages. Default: deny.",
    ),
    elicitation: requestsOfServer(
      'Whether the server may ask the caller of the run during a call, which interrupts the run until the answer. Default: deny.',
    ),
  },
  strictObject('A server of the Model Context Protocol: at a `url`, or started by a `command`. Its tools are named `<name>__<tool>`.'),
)

export const OpenApiConfig = Type.Object(
  {
    spec: Type.String({
      minLength: 1,
      description: 'The OpenAPI document: a file in the folder of agent.yaml or under it (.yaml, .yml or .json), or an http(s) address.',
    }),
    base_url: optionalText('The address of the API; may contain `${NAME}`. Default: the server that the document names.', Address),
    headers: optional(Headers),
    credentials: optional(
      Type.Record(Type.String(), Type.String(), {
        writeOnly: true,
        maxProperties: maxSecrets,
        description:
          'Secrets by the name of the security scheme in the document: a key or token, `user:password` for basic, `id:secret` for client credentials. Values may contain `${NAME}`.',
      }),
    ),
    token_url: optionalText('The address that issues tokens for client credentials. Default: as the document says.', Address),
    include: selectors('The operations that become tools: names, patterns with "*", or tags such as `tag:pets`. Default: all operations.'),
    exclude: selectors('The operations that do not, even if `include` names them: names, patterns with "*", or tags. Default: none.'),
    effects: optional(Effects),
  },
  strictObject('An HTTP API by its OpenAPI document. Its tools are named `<name>__<operationId>`.'),
)

export const HttpRequestConfig = Type.Object(
  {
    allowed_hosts: optional(Hosts),
    context_hosts: optional(
      Type.Array(Host, { maxItems: maxEntries, description: "The hosts that receive the caller's `stix*` headers. Default: none." }),
    ),
    methods: optional(
      Type.Array(Type.Enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']), {
        minItems: 1,
        description: 'The methods that requests may have. With GET and HEAD alone, the effect of the tool is `read`. Default: all.',
      }),
    ),
    headers: optional(
      Type.Record(Host, secretsOf('The headers of requests to the host.'), {
        maxProperties: maxEntries,
        description: 'Headers of requests, by host and name. Values are secrets, may contain `${NAME}` and are never shown to the model.',
      }),
    ),
  },
  strictObject('Sends HTTP requests to public hosts or to the allowed hosts.'),
)

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
