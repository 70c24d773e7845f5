import { etag, replies, route, optionalText, orNull, namedObject, object, closed, toIso, pageLimit } from '../schemas/shared.ts'
import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import type { Configuration } from '../../configuration/configuration.ts'
import type { PastConfiguration } from '../../configuration/configuration-store.ts'
import { toExpectation } from '../server/request-headers.ts'
import { toUpdateReply, override, requesterOf, validateOnly, YamlText, UpdatedConfiguration } from './configuration.ts'

const HistoryQuery = Type.Object({
  limit: pageLimit,
  before: Type.Optional(Type.String({ pattern: '^[0-9]{1,15}$', description: 'The `offset` of the page before.' })),
})

const ConfigurationVersion = namedObject('ConfigurationVersion', 'A recorded version of the configuration.', {
  version: Type.String(),
  at: Type.String({ format: 'date-time', description: 'When the version came into use.' }),
  by: Type.String({
    description:
      '`<issuer> <sub>` of a caller; `file` for agent.yaml and skills, `command line`, or `service` for a start that ends changes in memory.',
  }),
  kind: Type.Enum(['seed', 'put', 'memory', 'edit', 'skills', 'restore', 'start'], {
    description:
      'seed: the first configuration. put: a change over HTTP. memory: one that was not stored. edit: an edit of agent.yaml. skills: changed files of skills. restore: an earlier version brought back. start: a start without the changes in memory.',
  }),
  diff: Type.Array(Type.String(), { description: 'Paths of the fields that the version changed.' }),
})

const VersionPath = Type.Object({ version: Type.String({ minLength: 1, maxLength: 128, description: 'A version of the history.' }) })

const { version, at, kind } = ConfigurationVersion.properties

const ConfigurationVersionText = object('A recorded version of the configuration with its text.', {
  version,
  at,
  kind,
  text: YamlText,
})

const ConfigurationHistory = namedObject('ConfigurationHistory', {
  versions: Type.Array(ConfigurationVersion),
  offset: orNull(Type.String(), 'The `before` of the next page; null for an empty page.'),
  has_more: Type.Boolean(),
})

const RestoreBody = closed({
  version: Type.String({ minLength: 1, maxLength: 128, description: 'A version of the history.' }),
  validate_only: validateOnly,
  override,
})

const tag = 'Agent configuration'

/** Routes to list and read the versions of the agent configuration, and to restore one. */
export const configurationHistoryRoutes = [listRoute, readRoute, restoreRoute] as const

function listRoute(app: App, { configuration }: { configuration: Configuration }): void {
  app.get(
    '/core/v1/agent/config/history',
    route('config.read', tag, {
      summary: 'List the versions of the configuration, newest first',
      description:
        'Changes over HTTP, edits of agent.yaml, restored versions, and starts. The first version of the first page is in use. The newest 100 versions that were stored are kept, and those in memory only as long as they are among them.',
      text: 'Use it to see who changed what. A version can be read, and restored.',
      parameters: { before: '12' },
      querystring: HistoryQuery,
      response: replies({ 200: ConfigurationHistory }, 422),
    }),
    async (request) => {
      const { limit, before } = request.query
      const { versions, hasMore } = await configuration.history({ limit, before: before === undefined ? undefined : Number(before) })
      const last = versions.at(-1)
      return { versions: versions.map(toVersion), offset: last ? String(last.n) : null, has_more: hasMore }
    },
  )
}

function readRoute(app: App, { configuration }: { configuration: Configuration }): void {
  app.get(
    '/core/v1/agent/config/history/:version',
    route('config.read', tag, {
      summary: 'Read a version of the configuration, with its text',
      description:
        'The text of agent.yaml as the version stored it, with its comments; of a version in memory only, with its changes. Secrets are masked as in the configuration in use. A text that this release cannot use is answered with 422.',
      text: 'Take a `version` from `GET /core/v1/agent/config/history`. A version that is not kept is 404.',
      params: VersionPath,
      response: replies({ 200: ConfigurationVersionText }, 404, 422),
    }),
    async (request) => {
      const { version } = request.params
      const { at, ...past } = await configuration.version(version)
      return { ...past, at: toIso(at) }
    },
  )
}

function restoreRoute(app: App, { configuration }: { configuration: Configuration }): void {
  app.post(
    '/core/v1/agent/config/restore',
    route('config.write', tag, {
      summary: 'Restore an earlier version of the configuration, or check whether that is possible',
      description:
        'The text of the version replaces the stored text, its secrets included, and becomes a new version of kind `restore`. It is checked as a change over HTTP is: a command or code that is not in use needs CONFIG_CODE=allow, a variable that is not in use CONFIG_ENV.',
      text: `Take a \`version\` from \`GET /core/v1/agent/config/history\`. The example only checks: remove \`validate_only\` to restore.

404: the version is not kept. 409 \`GateNotPassed\`: the gate of the configuration in use (\`releases.gate\`) counts for a restored version too; \`override\` restores it all the same. 412: \`if-match\` is not the version in use. 422: this release cannot use the text.`,
      examples: {
        check: {
          summary: 'Check whether a version can be restored',
          value: { version: '019ab3c4-5d6e-7f80-9a1b-2c3d4e5f6071', validate_only: true },
        },
      },
      headers: Type.Object({
        'if-match': optionalText('The etag of the version in use; another one is answered with 412.'),
      }),
      body: RestoreBody,
      response: replies({ 200: { ...UpdatedConfiguration, headers: etag } }, 404, 409, 412),
    }),
    async (request, reply) => {
      const { version, validate_only: isCheck, override: reason } = request.body
      const mode = isCheck ? 'check' : 'file'
      const expects = toExpectation(request.headers['if-match'])
      const change = { kind: 'restore', version } as const
      const updated = await configuration.update({ change, mode, expects, override: reason, ...requesterOf(request) })
      void reply.header('etag', `"${updated.version}"`)
      return toUpdateReply(mode, updated)
    },
  )
}

function toVersion(past: PastConfiguration): Type.Static<typeof ConfigurationVersion> {
  const { version, kind, diff, at } = past
  return { version, at: toIso(at), by: authorOf(past), kind, diff: [...diff] }
}

function authorOf({ kind, actor }: PastConfiguration): string {
  // Former releases did not record the issuer.
  if (actor) return actor.issuer === undefined ? actor.sub : `${actor.issuer} ${actor.sub}`
  if (kind === 'restore') return 'command line'
  return kind === 'start' ? 'service' : 'file'
}
