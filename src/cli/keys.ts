import { InvalidArgumentError, type Command } from 'commander'
import { toRecord, type AccessKeyRecord, type AccessKeyStore } from '../access/keys/access-key-store.ts'
import { openCallbackSecrets } from '../access/keys/callback-secrets.ts'
import { isKeyName, newClaims, signClaims } from '../access/keys/keys.ts'
import { isBuiltInRole } from '../access/permissions.ts'
import { openSigningKeys, rotateSigningKeys } from '../access/keys/signing-keys.ts'
import { ConfigError } from '../configuration/problems.ts'
import type { Topic, Topics } from '../replicas/bus.ts'
import { openSecrets, type OpenSecrets } from '../service/secrets.ts'
import type { Settings } from '../settings/settings.ts'
import { createAccessKeyStore } from '../store/secrets/access-keys.ts'
import { publishOnce } from '../store/postgres/bus.ts'
import { openDatabase } from '../store/open.ts'
import { CommandFailure, type CommandContext } from './terminal.ts'
import { readSettings } from './prepare.ts'
import { formatTable } from './table.ts'
import { loadUsedConfiguration } from './used-configuration.ts'

/** Makes, lists and revokes access keys, rotates what signs them, and tells what callbacks are signed with: beside a running service or before its start. */
export function addKeys(program: Command, { terminal }: CommandContext): void {
  const keys = program.command('keys').description('Make, list and revoke access keys; the secret of callbacks.')
  const say = (line: string) => terminal.stdout.write(`${line}\n`)

  async function use<T>(settings: Settings, work: (tools: Tools) => Promise<T>): Promise<T> {
    const database = await openDatabase(settings)
    const secrets = async () => {
      const opened = await openSecrets(database, settings, Date.now)
      for (const line of opened.notices) terminal.stderr.write(`${line}\n`)
      return opened
    }
    try {
      return await work({ register: createAccessKeyStore(database), secrets, tell: (topic, data) => publishOnce(database, topic, data) })
    } finally {
      await database.close()
    }
  }

  keys
    .command('create')
    .description('Make a key; it alone is printed on standard output.')
    .requiredOption('--sub <name>', 'whom the key is for', toName)
    .option('--tenant <name>', 'the tenant that the key belongs to', toName, 'default')
    .option('--roles <names>', 'roles, separated by commas', toRoles, ['user'])
    .option('--expires <time>', 'how long it is valid: a number and s, m, h or d', toSeconds, toSeconds('30d'))
    .addHelpText('after', `\nWithout --expires a key is valid for 30d. Built-in roles: viewer, user, operator, admin.`)
    .action(async ({ sub, tenant, roles, expires }: CreateOptions) => {
      const settings = readSettings(terminal)
      for (const role of await findUnknownRoles(roles, settings)) {
        terminal.stderr.write(`There is no role ${JSON.stringify(role)} in the configuration: it grants nothing.\n`)
      }
      const claims = newClaims({ sub, tenant, roles, expiresInSeconds: expires, now: Date.now() })
      const key = await use(settings, async ({ register, secrets }) => {
        const { signingKeys } = await secrets()
        // Registered first: a key that works but is not listed could not be found to be revoked, nor would a rotation know how long it lives.
        await register.insert(toRecord(claims))
        return signClaims((await openSigningKeys(signingKeys, Date.now)).newest(), claims)
      })
      say(key)
    })

  keys
    .command('list')
    .description('List the keys that were made here, newest first.')
    .option('--tenant <name>', 'only those of this tenant', toName)
    .action(async ({ tenant }: { tenant?: string }) => {
      const records = await use(readSettings(terminal), ({ register }) => register.list(tenant))
      for (const line of toTable(records, Date.now())) say(line)
    })

  keys
    .command('revoke <jti>')
    .description('End a key; with Postgres every replica refuses it at once, else a running service does within 5 s.')
    .action(async (jti: string) => {
      const revoked = await use(readSettings(terminal), async ({ register, tell }) => {
        const found = await revoke(register, jti)
        if (found) await tell('revoked', { jti })
        return found
      })
      if (revoked === undefined) throw new CommandFailure(1, [`There is no key ${JSON.stringify(jti)}; "agent-core keys list" shows them.`])
      say(revoked ? `Revoked ${jti}.` : `${jti} was revoked before.`)
    })

  keys
    .command('rotate')
    .description('Make a new signing key; keys that were made before go on until they end.')
    .option('--now', 'end all keys that were made before, and all links')
    .addHelpText('after', '\nA running service takes it up within seconds, without a restart.')
    .action(async ({ now: endNow = false }: { now?: boolean }) => {
      const until = await use(readSettings(terminal), async ({ register, secrets, tell }) => {
        const { signingKeys } = await secrets()
        const { latestExpiry } = register
        const until = await rotateSigningKeys(signingKeys, { now: Date.now, latestExpiry, endNow })
        await tell('signing_keys', { newest: (await openSigningKeys(signingKeys, Date.now)).newest().kid })
        return until
      })
      say('A new signing key signs from now on.')
      if (until !== undefined) say(`Keys that were made before go on until they end, the last of them at ${toTime(until)}.`)
      else say('All keys that were made before have ended. The service writes a new admin.key, at the latest when it starts.')
    })

  keys
    .command('callback-secret')
    .description('Print the secret that callbacks are signed with, for their receiver (Standard Webhooks).')
    .option('--tenant <name>', 'whose callbacks', toName, 'default')
    .addHelpText('after', '\nWhere CALLBACK_SECRET holds two, the first is printed.')
    .action(async ({ tenant }: { tenant: string }) => {
      const of = await use(
        readSettings(terminal),
        async ({ secrets }) => (await openCallbackSecrets((await secrets()).callbacks)).forTenant,
      )
      say(of(tenant)[0]!)
    })
}

interface CreateOptions {
  sub: string
  tenant: string
  roles: string[]
  expires: number
}

const secondsPer: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }
/** A hundred years: beyond, times leave what dates can say. */
const maxSeconds = 36_500 * 86_400

/** `30d` in seconds. */
function toSeconds(text: string): number {
  const [, digits, unit] = /^(\d{1,12})([smhd])$/.exec(text) ?? []
  const seconds = Number(digits) * (secondsPer[unit ?? ''] ?? Number.NaN)
  if (seconds >= 1 && seconds <= maxSeconds) return seconds
  throw new InvalidArgumentError('It must be a number and a unit (s, m, h or d), such as 30d, up to 36500d.')
}

function toName(text: string): string {
  if (isKeyName(text)) return text
  throw new InvalidArgumentError('A name has 1 to 256 characters and no control characters.')
}

function toRoles(text: string): string[] {
  const roles = text.split(',').map((role) => role.trim())
  return [...new Set(roles.map(toName))]
}

/** Only told: the role may be added to the configuration later. */
async function findUnknownRoles(roles: readonly string[], settings: Settings): Promise<string[]> {
  const others = roles.filter((role) => !isBuiltInRole(role))
  if (others.length === 0) return []
  const custom = await loadUsedConfiguration(settings).then(
    ({ config }) => config.access.roles,
    (error: unknown) => {
      if (error instanceof ConfigError) return {}
      throw error
    },
  )
  return others.filter((role) => !Object.hasOwn(custom, role))
}

interface Tools {
  register: AccessKeyStore
  /** What was taken over is told on standard error. */
  secrets(): Promise<OpenSecrets>
  /** Tells the running processes of the service. */
  tell<T extends Topic>(topic: T, data: Topics[T]): Promise<void>
}

/** Undefined where there is no such key, false where it was revoked before. */
async function revoke(register: AccessKeyStore, jti: string): Promise<boolean | undefined> {
  if (await register.revoke(jti, Date.now())) return true
  return (await register.list()).some((record) => record.jti === jti) ? false : undefined
}

function toTable(records: readonly AccessKeyRecord[], now: number): string[] {
  const rows = records.map((record) => [
    record.jti,
    record.tenant,
    record.sub,
    record.roles.join(','),
    toTime(record.createdAt),
    toTime(record.expiresAt),
    record.revokedAt !== undefined ? 'revoked' : record.expiresAt <= now ? 'expired' : 'active',
  ])
  return formatTable([['jti', 'tenant', 'sub', 'roles', 'created', 'expires', 'state'], ...rows])
}

function toTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}
