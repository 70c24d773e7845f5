import { createHmac, randomBytes } from 'node:crypto'
import { serviceActing, type Act } from '../../audit/acts.ts'
import type {
  ChangeKind,
  ConfigurationActor,
  ConfigurationStore,
  NewConfiguration,
  PastConfiguration,
  StoredConfiguration,
} from '../../configuration/configuration-store.ts'
import { toDetails } from '../../configuration/change/gate.ts'
import type { ConfigData } from '../../configuration/change/merge.ts'
import { textOfPins, type SkillPins } from '../../configuration/skills/pins.ts'
import { ServiceError } from '../../errors.ts'
import { query, type Database, type Connection } from '../database.ts'
import type { SecretBox } from '../secrets/secret-box.ts'
import { createSecrets, configurationName } from '../secrets/secrets.ts'
import type { ConfigurationRow } from '../tables.ts'

/** Limits: configurations that can be restored, and configurations whose texts count as seen. */
const maxKept = 100
const maxSeen = 5000

/** The encrypted part of a configuration: its texts may hold API keys of models in plain text. */
interface EncryptedContent {
  text: string
  storedVersion: string
  used?: ConfigData
  file?: string
  skills?: SkillPins
}

interface ConfigurationStoreOptions {
  box: SecretBox
  /** The tenant whose ledger has the changes of files. */
  adminTenant: string
  /** Epoch milliseconds. */
  now(): number
}

/** `ConfigurationStore` on a database that several processes share. */
export async function openConfigurationStore(database: Database, options: ConfigurationStoreOptions): Promise<ConfigurationStore> {
  const { box, now } = options
  const { db, ledger } = database
  const { read, unit } = database.all
  const key = await createSecrets(database, box, { now })
    .secret('key of seen configurations')
    .change((storedKey) => storedKey ?? randomBytes(32).toString('base64'))
  const idOf = (text: string) => createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64url')
  const open = (row: Pick<ConfigurationRow, 'n' | 'content'>) => JSON.parse(openRow(box, row)) as EncryptedContent
  const seal = (n: number, content: EncryptedContent) => box.seal(configurationName(n), JSON.stringify(content))

  const rows = db.selectFrom('configurations')
  const latest = rows.selectAll().orderBy('n', 'desc').limit(1)

  function toStored(row: ConfigurationRow): StoredConfiguration {
    const { file: _, ...content } = open(row)
    const { n, version, kind, made_at: at } = row
    return { n, version, kind, at, ...content }
  }

  async function newestKey(connection: Connection): Promise<{ n: number; version: string | null }> {
    const newest = rows.select(['n', 'version']).orderBy('n', 'desc').limit(1)
    return (await query(connection, newest)).rows[0] ?? { n: 0, version: null }
  }

  async function insert(connection: Connection, next: NewConfiguration, n: number): Promise<boolean> {
    const { version, kind, diff, actor, at, isAudited: _, override: _override, ...content } = next
    const row = {
      n,
      version,
      kind,
      content: seal(n, content),
      diff: JSON.stringify(diff),
      made_by: actor && actor.via !== 'cli' ? JSON.stringify({ tenant: actor.tenant, issuer: actor.issuer, sub: actor.sub }) : null,
      made_at: at,
    }
    const insertion = db.insertInto('configurations').values(row)
    const { changes } = await query(
      connection,
      insertion.onConflict((conflict) => conflict.doNothing()),
    )
    return changes > 0
  }

  async function markSeen(connection: Connection, texts: readonly string[], n: number): Promise<void> {
    for (const id of new Set(texts.map(idOf))) {
      const insertion = db.insertInto('configuration_texts').values({ id, n })
      await query(
        connection,
        insertion.onConflict((conflict) => conflict.column('id').doUpdateSet({ n })),
      )
    }
  }

  /**
   * Deletes old configurations. Configurations that were only in memory cannot be restored and go first. The last configuration from a file
   * stays, because the next edit of the file is compared with it. All recent ones stay, because their numbers keep concurrent changes apart.
   */
  async function dropOld(connection: Connection, n: number): Promise<void> {
    const stored = rows.select('n').where('kind', 'not in', notStored)
    const oldest = stored
      .orderBy('n', 'desc')
      .offset(maxKept - 1)
      .limit(1)
    const lastFile = rows.select('n').where('kind', 'in', fromFile).orderBy('n', 'desc').limit(1)
    const remove = db
      .deleteFrom('configurations')
      .where('n', '<', n - maxKept)
      .where('n', '<>', lastFile)
    await query(
      connection,
      remove.where((where) => where.or([where('kind', 'in', notStored), where('n', '<', oldest)])),
    )
    await query(connection, db.deleteFrom('configuration_texts').where('n', '<', n - maxSeen))
  }

  return {
    idOf,
    newestNumber: async () => (await newestKey(read)).n,

    async newest() {
      const [row] = (await query(read, latest)).rows
      return row && toStored(row)
    },

    async list() {
      const columns = rows.select(['n', 'version', 'kind', 'diff', 'made_by', 'made_at'])
      const past = await query(read, columns.where('kind', 'not in', notStored).orderBy('n', 'desc'))
      return past.rows.map(toPast)
    },

    async page(limit, before) {
      const columns = rows.select(['n', 'version', 'kind', 'diff', 'made_by', 'made_at']).orderBy('n', 'desc').limit(limit)
      return (await query(read, before === undefined ? columns : columns.where('n', '<', before))).rows.map(toPast)
    },

    async find(version) {
      const [row] = (await query(read, rows.selectAll().where('version', '=', version))).rows
      return row && toStored(row)
    },

    add: (next, after) =>
      unit(async (connection) => {
        const n = after + 1
        // The primary key lets one of two concurrent changes through. The comparison refuses an old `after` whose next number was deleted.
        const before = await newestKey(connection)
        if (before.n !== after || !(await insert(connection, next, n))) return false
        await ledger.record(
          connection,
          next.actor?.tenant ?? options.adminTenant,
          next.actor ?? serviceActing,
          toActs(next, before.version),
        )
        const texts = [next.text, next.file, next.skills && textOfPins(next.skills)]
        await markSeen(
          connection,
          texts.filter((text) => text !== undefined),
          n,
        )
        await dropOld(connection, n)
        return true
      }),

    async seenAt(text) {
      const lastSeen = db.selectFrom('configuration_texts').select('n').where('id', '=', idOf(text))
      return (await query(read, lastSeen)).rows[0]?.n
    },

    async findText(n, id) {
      const [row] = (await query(read, rows.select(['n', 'content']).where('n', '=', n))).rows
      const { text, file } = row ? open(row) : {}
      return [text, file].find((candidate) => candidate !== undefined && idOf(candidate) === id)
    },

    async lastFromFile() {
      const last = rows.select(['n', 'content']).where('kind', 'in', fromFile).orderBy('n', 'desc').limit(1)
      const [row] = (await query(read, last)).rows
      if (!row) return undefined
      const { text, file } = open(row)
      return file ?? text
    },
  }
}

function toActs(next: NewConfiguration, before: string | null): Act[] {
  const change = toAct(next, before)
  if (!next.override) return [change]
  const { reason, refusal } = next.override
  const data = { version: next.version, override: reason.toWellFormed(), ...toDetails(refusal) }
  return [change, { ...change, action: 'configuration.overridden', data }]
}

function toAct({ kind, version, diff, isAudited }: NewConfiguration, before: string | null): Act {
  const action = kind === 'restore' ? 'configuration.restored' : 'configuration.changed'
  let length = 0
  const paths = diff.filter((path) => (length += path.length) <= maxDiffLength)
  const omitted = diff.length - paths.length
  const data = { kind, from: before, to: version, diff: paths, ...(omitted > 0 && { omitted }) }
  return { action, target: 'configuration', data, configVersion: version, isAudited }
}

/** Characters of the paths of an event. A longer event would not fit into a line of an export. The history of the configuration has all paths. */
const maxDiffLength = 16_384

const notStored: ChangeKind[] = ['memory', 'start']
const fromFile: ChangeKind[] = ['seed', 'edit']

/** While SECRET_KEY is being changed, a process without the new key gets `configuration_not_stored` and keeps its configuration. */
function openRow(box: SecretBox, { n, content }: Pick<ConfigurationRow, 'n' | 'content'>): string {
  try {
    return box.open(configurationName(n), content)
  } catch (cause) {
    throw new ServiceError('configuration_not_stored', cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

function toPast({ n, version, kind, diff, made_by, made_at }: Omit<ConfigurationRow, 'content'>): PastConfiguration {
  const past = { n, version, kind, diff: JSON.parse(diff) as string[], at: made_at }
  return made_by === null ? past : { ...past, actor: JSON.parse(made_by) as ConfigurationActor }
}
