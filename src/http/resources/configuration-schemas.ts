import { Type } from 'typebox'
import { maxListed } from './schemas.ts'
import { named } from '../openapi/named.ts'

/** Schemas of the agent configuration. */

export const etag = { etag: { type: 'string', description: 'The version, for if-match.' } }

export const ShownConfiguration = named(
  'ShownConfiguration',
  Type.Object(
    {
      configuration: Type.Record(Type.String(), Type.Unknown(), {
        description: 'The configuration with all defaults; secrets are shown as "********".',
      }),
      timestamp: Type.String({ description: 'Time since when this version is in use: ISO 8601, UTC, without a zone.' }),
      version: Type.String(),
      warnings: Type.Optional(
        Type.Array(Type.String(), { description: 'Why this replica cannot use a newer version, which other replicas may serve.' }),
      ),
    },
    { description: 'The configuration in use.' },
  ),
)

const yamlExample = 'description: Answers questions about orders.\ntools:\n  - name: calculator\n'

export const YamlText = Type.String({
  description: `The text of agent.yaml, secrets as "********". For example:\n\n${yamlExample.replace(/^/gm, '    ')}`,
})

const validateOnly = Type.Optional(Type.Boolean({ default: false, description: 'Check the change and change nothing.' }))
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
    },
    { additionalProperties: false },
  ),
)

/** For a YAML body, which has no room for them. A JSON body may use them too. */
export const UpdateQuery = Type.Object({ validate_only: validateOnly, in_memory_only: inMemoryOnly })

export const ReadQuery = Type.Object({
  format: Type.Optional(
    Type.Enum(['json', 'yaml'], {
      description: 'The form of the answer. Default: yaml when `accept` asks for application/yaml, else json.',
    }),
  ),
})

export const UpdatedConfiguration = named(
  'UpdatedConfiguration',
  Type.Object(
    {
      success: Type.Boolean(),
      message: Type.String(),
      timestamp: Type.String(),
      previous_config_backup: Type.Boolean(),
      version: Type.Optional(Type.String({ description: 'Absent with `validate_only`.' })),
      diff: Type.Array(Type.String(), { description: 'Paths of the changed fields, such as tools[handbook].config.paths.' }),
      warnings: Type.Array(Type.String(), {
        description: 'Models and tools that cannot be used, and settings that a model does not have, each a line.',
      }),
    },
    { description: 'The result of a change or a check of the configuration.' },
  ),
)

export const HistoryQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: maxListed, default: 45 }),
  before: Type.Optional(Type.String({ pattern: '^[0-9]{1,15}$', description: 'The `offset` of the page before.' })),
})

export const ConfigurationVersion = named(
  'ConfigurationVersion',
  Type.Object(
    {
      version: Type.String(),
      at: Type.String({ format: 'date-time', description: 'When the version came into use.' }),
      by: Type.String({
        description:
          '`<issuer> <sub>` of a caller; `file` for agent.yaml, `command line`, or `service` for a start that ends changes in memory.',
      }),
      kind: Type.Enum(['seed', 'put', 'memory', 'edit', 'restore', 'start'], {
        description:
          'seed: the first configuration. put: a change over HTTP. memory: one that was not stored. edit: an edit of agent.yaml. restore: an earlier version brought back. start: a start without the changes in memory.',
      }),
      diff: Type.Array(Type.String(), { description: 'Paths of the fields that the version changed.' }),
    },
    { description: 'A recorded version of the configuration.' },
  ),
)

export const VersionPath = Type.Object({ version: Type.String({ minLength: 1, maxLength: 128, description: 'A version of the history.' }) })

const { version, at, kind } = ConfigurationVersion.properties

export const ConfigurationVersionText = Type.Object(
  { version, at, kind, text: YamlText },
  { description: 'A recorded version of the configuration with its text.' },
)

export const ConfigurationHistory = named(
  'ConfigurationHistory',
  Type.Object({
    versions: Type.Array(ConfigurationVersion),
    offset: Type.Union([Type.String(), Type.Null()], { description: 'The `before` of the next page; null for an empty page.' }),
    has_more: Type.Boolean(),
  }),
)

export const RestoreBody = Type.Object(
  { version: Type.String({ minLength: 1, maxLength: 128, description: 'A version of the history.' }), validate_only: validateOnly },
  { additionalProperties: false },
)
