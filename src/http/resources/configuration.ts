import { etag, replies, route, optionalText, named, namedObject, toIso } from '../schemas/shared.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import type { Configuration, ConfigurationUpdate as Update, UpdatedConfiguration as Updated } from '../../configuration/configuration.ts'
import { invalid } from '../../errors.ts'
import { toJsonSchema } from '../../configuration/schema-walk.ts'
import { principalOf } from '../server/authenticate.ts'
import { toExpectation } from '../server/request-headers.ts'
import { contentBytes } from '../server/read-bodies.ts'

export const ShownConfiguration = namedObject('ShownConfiguration', 'The configuration in use.', {
  configuration: Type.Record(Type.String(), Type.Unknown(), {
    description: 'The configuration with all defaults; secrets are shown as "********".',
  }),
  timestamp: Type.String({ description: 'Time since when this version is in use: ISO 8601, UTC, without a zone.' }),
  version: Type.String(),
  warnings: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Why this replica cannot use a newer version, which other replicas may serve, or an edit of agent.yaml.',
    }),
  ),
})

const yamlExample = 'description: Answers questions about orders.\ntools:\n  - name: calculator\n'

export const YamlText = Type.String({
  description: `The text of agent.yaml, secrets as "********". For example:\n\n${yamlExample.replace(/^/gm, '    ')}`,
})

export const validateOnly = Type.Optional(Type.Boolean({ default: false, description: 'Check the change and change nothing.' }))

export const override = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 500,
    pattern: '\\S',
    description:
      'The reason to make the change although it has not passed the gate (`releases.gate`). Recorded in the ledger; without effect where the gate does not refuse.',
  }),
)

const inMemoryOnly = Type.Optional(
  Type.Boolean({ default: false, description: 'Do not store the change. The change is lost when the last replica has stopped.' }),
)

export const ConfigurationUpdate = named(
  'ConfigurationUpdate',
  Type.Object(
    {
      configuration: Type.Record(Type.String(), Type.Unknown(), {
        description:
          'Fields as in `GET /core/v1/agent/config/schema`, merged into the configuration (RFC 7396): objects merge, null removes, lists replace. "********" keeps a secret.',
      }),
      validate_only: validateOnly,
      in_memory_only: inMemoryOnly,
      override,
    },
    { additionalProperties: false },
  ),
)

/** For a YAML body, which has no room for them. A JSON body may use them too. */
const UpdateQuery = Type.Object({ validate_only: validateOnly, in_memory_only: inMemoryOnly, override })

const ReadQuery = Type.Object({
  format: Type.Optional(
    Type.Enum(['json', 'yaml'], {
      description: 'The form of the answer. Default: yaml when `accept` asks for application/yaml, else json.',
    }),
  ),
})

export const UpdatedConfiguration = namedObject('UpdatedConfiguration', 'The result of a change or a check of the configuration.', {
  success: Type.Boolean(),
  message: Type.String(),
  timestamp: Type.String(),
  previous_config_backup: Type.Boolean(),
  version: optionalText('Absent with `validate_only`.'),
  diff: Type.Array(Type.String(), { description: 'Paths of the changed fields, such as tools[handbook].config.paths.' }),
  warnings: Type.Array(Type.String(), {
    description:
      'Models and tools that cannot be used, settings that a model does not have, and with `validate_only` why the gate is not passed, each a line.',
  }),
})

const path = '/core/v1/agent/config'

/** RFC 9512. */
const yamlType = 'application/yaml'

const tag = 'Agent configuration'

/** Routes to read and change the agent configuration. */
export const configurationRoutes = [readRoute, changeRoute, schemaRoute] as const

function readRoute(app: App, { configuration }: { configuration: Configuration }): void {
  app.get(
    path,
    route('config.read', tag, {
      summary: 'Read the configuration in use',
      description:
        'As JSON: the configuration with all defaults. As YAML (`accept: application/yaml` or `?format=yaml`): the stored text of agent.yaml with its comments, without changes that are in memory only. Secrets are masked in both; in comments those that are named like a secret, that stand under `headers` or `env`, or that the configuration uses.',
      text: 'The header `etag` is the version, for `if-match` of a change.',
      parameters: { format: 'json' },
      querystring: ReadQuery,
      response: replies({ 200: readReply }, 422),
    }),
    async (request, reply) => {
      const { config, version, since, warnings } = configuration.show()
      void reply.header('etag', `"${version}"`).header('vary', 'accept')
      if (wantsYaml(request)) return sendYaml(reply, configuration.showText())
      return { configuration: config, timestamp: toTimestamp(since), version, ...(warnings && { warnings: [...warnings] }) }
    },
  )
}

function changeRoute(app: App, { configuration }: { configuration: Configuration }): void {
  app.put(
    path,
    route({ access: 'config.write', bodyTypes: { [yamlType]: 'text' }, maxBodyBytes: contentBytes }, tag, {
      summary: 'Change the configuration, or check a change',
      description:
        'A JSON body is merged into the configuration. A YAML body (`content-type: application/yaml`) is the whole text: what is absent is removed, comments and order are kept as sent, and faults have the line of the text. In both "********" keeps a secret, unless the address beside it changes. Changes that are in memory only stay in effect.',
      text: `A valid change takes effect within 2 s on all replicas, without a restart; runs in progress keep the configuration with which they began. The configuration before is kept as a backup and in the history. The examples only check a change: remove \`validate_only\` to make it.

- 409 \`GateNotPassed\`: the configuration in use has a gate (\`releases.gate\`), and no experiment shows that the change passes. \`override\` makes the change all the same. With \`validate_only\` it is a warning.
- 403: the change has a new command, code or environment of a process (\`CONFIG_CODE=allow\` permits it).
- 412: \`if-match\` is not the version in use: somebody else changed the configuration.
- 422: the result is not valid; each fault has its path, and nothing changes.`,
      parameters: { validate_only: true, in_memory_only: false },
      prefilled: ['validate_only'],
      requests: {
        'application/json': {
          description: {
            summary: 'Check another description',
            value: { configuration: { description: 'Answers questions about sales.' }, validate_only: true },
          },
          model: {
            summary: 'Check another model',
            value: {
              configuration: {
                llms: { primary: { provider: 'openai-compatible', model: 'qwen3', base_url: 'http://localhost:11434/v1' } },
              },
              validate_only: true,
            },
          },
        },
        'application/yaml': { file: { summary: 'Check a whole agent.yaml', value: yamlExample } },
      },
      headers: Type.Object({
        'if-match': optionalText('The etag of the version that is changed; another one is answered with 412.'),
      }),
      querystring: UpdateQuery,
      body: { content: { 'application/json': { schema: ConfigurationUpdate }, [yamlType]: { schema: YamlText } } },
      response: replies({ 200: { ...UpdatedConfiguration, headers: etag } }, 409, 412),
    }),
    async (request, reply) => {
      const update = toUpdate(request)
      const updated = await configuration.update(update)
      void reply.header('etag', `"${updated.version}"`)
      return toUpdateReply(update.mode, updated)
    },
  )
}

function schemaRoute(app: App): void {
  let schema: ReturnType<typeof toJsonSchema> | undefined
  app.get(
    `${path}/schema`,
    route('public', tag, {
      summary: 'JSON Schema of the configuration',
      text: 'Every setting of agent.yaml with its description, limits and default. Editors can use it to complete and check the file.',
      response: { 200: Type.Record(Type.String(), Type.Unknown()) },
    }),
    async () => (schema ??= toJsonSchema()),
  )
}

/** Schemas of the agent configuration. */

const readReply = {
  description: 'The configuration in use.',
  headers: { ...etag, vary: { type: 'string', description: 'accept: the form of the answer depends on it.' } },
  content: { 'application/json': { schema: ShownConfiguration }, [yamlType]: { schema: YamlText } },
}

function wantsYaml({ query, headers }: FastifyRequest<{ Querystring: Type.Static<typeof ReadQuery> }>): boolean {
  const { format } = query
  if (format !== undefined) return format === 'yaml'
  const [type = ''] = headers.accept?.match(/application\/(?:json|yaml)\b/) ?? []
  return type === yamlType
}

function sendYaml(reply: FastifyReply, text: string): FastifyReply {
  return reply.type(`${yamlType}; charset=utf-8`).serializer(String).send(text)
}

function toUpdate(request: FastifyRequest<{ Querystring: Type.Static<typeof UpdateQuery> }>): Update {
  const body = request.body as Type.Static<typeof ConfigurationUpdate> | string | undefined
  if (body === undefined) throw invalid(['body'], 'is required')
  const { query } = request
  const flags: Type.Static<typeof UpdateQuery> = typeof body === 'string' ? {} : body
  const isCheck = query.validate_only || flags.validate_only
  const isInMemory = query.in_memory_only || flags.in_memory_only
  return {
    change: typeof body === 'string' ? { kind: 'text', text: body } : { kind: 'patch', patch: body.configuration },
    mode: isCheck ? 'check' : isInMemory ? 'memory' : 'file',
    override: flags.override ?? query.override,
    expects: toExpectation(request.headers['if-match']),
    ...requesterOf(request),
  }
}

/** The caller, as the history of the configuration names it, and what the caller may grant. */
export function requesterOf(request: FastifyRequest): Pick<Update, 'actor' | 'permissions'> {
  const actor = principalOf(request)
  return { actor, permissions: actor.permissions }
}

/** The reply to a change, or to a check of a change. */
export function toUpdateReply(
  mode: Update['mode'],
  { version, at, diff, warnings, backup }: Updated,
): Type.Static<typeof UpdatedConfiguration> {
  const common = { success: true, timestamp: toTimestamp(at), previous_config_backup: backup !== undefined, diff, warnings }
  if (mode === 'check') return { ...common, message: 'The change is valid; nothing was changed.' }
  const backupText = backup === undefined ? '' : ` The previous configuration is kept as ${backup}.`
  const scope = mode === 'memory' ? ' in memory only, until the service stops' : ''
  const isChanged = diff.length > 0 || backup !== undefined
  return {
    ...common,
    message: isChanged ? `The configuration was changed${scope}.${backupText}` : 'The change has no effect: nothing was changed.',
    version,
  }
}

/** The interface document shows the two timestamps of a configuration without a zone; both are UTC. */
function toTimestamp(ms: number): string {
  return toIso(ms).replace('Z', '')
}
