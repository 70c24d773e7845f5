import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Configuration, ConfigurationUpdate, UpdatedConfiguration } from '../../configuration/configuration.ts'
import { toJsonSchema } from '../../configuration/json-schema.ts'
import { principalOf } from '../authenticate.ts'
import { configurationExample } from '../examples.ts'
import { ErrorReply, refusals } from '../schemas.ts'

const Read = Type.Object({
  configuration: Type.Record(Type.String(), Type.Unknown(), {
    description: 'The configuration with all defaults; secrets are shown as "********".',
  }),
  timestamp: Type.String({ description: 'Time since when this version is in use: ISO 8601, UTC, without a zone.' }),
  version: Type.String(),
  warnings: Type.Optional(
    Type.Array(Type.String(), { description: 'Why this replica cannot use a newer version, which other replicas may serve.' }),
  ),
})

const Update = Type.Object(
  {
    configuration: Type.Record(Type.String(), Type.Unknown(), {
      description:
        'Fields as in `GET /core/v1/agent/config/schema`, merged into the configuration (RFC 7396): objects merge, null removes, lists replace. "********" keeps a secret.',
    }),
    validate_only: Type.Optional(Type.Boolean({ default: false })),
    in_memory_only: Type.Optional(
      Type.Boolean({ default: false, description: 'Do not store the change. The change is lost when the last replica has stopped.' }),
    ),
  },
  { additionalProperties: false, example: configurationExample },
)

const Updated = Type.Object({
  success: Type.Boolean(),
  message: Type.String(),
  timestamp: Type.String(),
  previous_config_backup: Type.Boolean(),
  version: Type.Optional(Type.String()),
  diff: Type.Array(Type.String(), { description: 'Paths of the changed fields, such as tools[handbook].config.paths.' }),
  warnings: Type.Array(Type.String()),
})

const etag = { etag: { type: 'string', description: 'The version, for if-match.' } }

const path = '/core/v1/agent/config'

/** Routes to read and change the agent configuration. */
export function configurationRoutes(app: FastifyInstance, { configuration }: { configuration: Configuration }): void {
  const tags = ['Agent configuration']
  app.get(
    path,
    {
      config: { access: 'config.read' },
      schema: { tags, summary: 'Read the configuration in use', response: { 200: { ...Read, headers: etag }, ...refusals } },
    },
    async (_request, reply) => {
      const { config, version, since, warnings } = configuration.show()
      void reply.header('etag', `"${version}"`)
      return { configuration: config, timestamp: toTimestamp(since), version, ...(warnings && { warnings: [...warnings] }) }
    },
  )

  app.put(
    path,
    {
      config: { access: 'config.write' },
      schema: {
        tags,
        summary: 'Change the configuration, or check a change',
        headers: Type.Object({ 'if-match': Type.Optional(Type.String()) }),
        body: Update,
        response: { 200: { ...Updated, headers: etag }, 412: ErrorReply, ...refusals },
      },
    },
    async (request, reply) => {
      const update = toUpdate(request)
      const updated = await configuration.update(update)
      void reply.header('etag', `"${updated.version}"`)
      return toReply(update.mode, updated)
    },
  )

  const schema = toJsonSchema()
  app.get(
    `${path}/schema`,
    {
      config: { access: 'public' },
      schema: { tags, summary: 'JSON Schema of the configuration', response: { 200: Type.Record(Type.String(), Type.Unknown()) } },
    },
    async () => schema,
  )
}

function toUpdate(request: FastifyRequest): ConfigurationUpdate {
  const body = request.body as Type.Static<typeof Update>
  const { tenant, sub } = principalOf(request)
  return {
    patch: body.configuration,
    mode: body.validate_only ? 'check' : body.in_memory_only ? 'memory' : 'file',
    expects: toExpectation(request.headers['if-match']),
    actor: { tenant, sub },
  }
}

/** Parses `if-match` (RFC 9110, 13.1.1). A version without quotes is accepted too. */
function toExpectation(header: string | undefined): (version: string) => boolean {
  if (header === undefined) return () => true
  const tags = header.split(',').map((tag) => tag.trim())
  return (version) => tags.some((tag) => tag === '*' || tag === `"${version}"` || tag === version)
}

function toReply(mode: ConfigurationUpdate['mode'], { version, at, diff, warnings, backup }: UpdatedConfiguration) {
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
  return new Date(ms).toISOString().replace('Z', '')
}
