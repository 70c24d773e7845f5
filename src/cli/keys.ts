import path from 'node:path'
import { InvalidArgumentError, type Command } from 'commander'
import { toRecord, type AccessKeyRecord, type AccessKeyStore } from '../access/access-key-store.ts'
import { openCallbackSecrets } from '../access/callback-secrets.ts'
import { createKey, isKeyName, openSigningKey } from '../access/keys.ts'
import { isBuiltInRole } from '../access/permissions.ts'
import { loadAgentConfig } from '../configuration/load.ts'
import { ConfigError } from '../configuration/problems.ts'
import type { Settings } from '../settings.ts'
import { createAccessKeyStore } from '../store/access-keys.ts'
import { createCallbackSecretFile } from '../store/callback-secret-file.ts'
import { openDatabase } from '../store/open.ts'
import { createSigningKeyFile } from '../store/signing-key-file.ts'
import { CommandFailure, type CommandContext } from './terminal.ts'
import { readSettings } from './prepare.ts'
import { formatTable } from './table.ts'

/** Makes, lists and revokes access keys, and tells what callbacks are signed with: beside a running service, and before the first start. */
export function addKeys(program: Command, { terminal }: CommandContext): void {
  const keys = program.command('keys').description('Make, list and revoke access keys; the secret of callbacks.')
  const say = (line: string) => terminal.stdout.write(`${line}\n`)

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
        terminal.stderr.write(`There is no role ${JSON.stringify(role)} in ${path.basename(settings.agentConfig)}: it grants nothing.\n`)
      }
      // Before the register is opened: on a first use this makes the data directory, with the signing key in it.
      const signing = await openSigningKey(createSigningKeyFile(settings.dataDir))
      const { key, claims } = await createKey(signing, { sub, tenant, roles, expiresInSeconds: expires, now: Date.now() })
      // Registered first: a key that works but is not listed could not be found to be revoked.
      await withRegister(settings, (register) => register.insert(toRecord(claims)))
      say(key)
    })

  keys
    .command('list')
    .description('List the keys that were made here, newest first.')
    .option('--tenant <name>', 'only those of this tenant', toName)
    .action(async ({ tenant }: { tenant?: string }) => {
      const records = await withRegister(readSettings(terminal), (register) => register.list(tenant))
      for (const line of toTable(records, Date.now())) say(line)
    })

  keys
    .command('revoke <jti>')
    .description('End a key; a running service refuses it within 5 s.')
    .action(async (jti: string) => {
      const revoked = await withRegister(readSettings(terminal), (register) => revoke(register, jti))
      if (revoked === undefined) throw new CommandFailure(1, [`There is no key ${JSON.stringify(jti)}; "agent-core keys list" shows them.`])
      say(revoked ? `Revoked ${jti}.` : `${jti} was revoked before.`)
    })

  keys
    .command('callback-secret')
    .description('Print the secret that callbacks are signed with, for their receiver (Standard Webhooks).')
    .option('--tenant <name>', 'whose callbacks', toName, 'default')
    .addHelpText('after', '\nWhere CALLBACK_SECRET holds two, the first is printed.')
    .action(async ({ tenant }: { tenant: string }) => {
      const { callbackSecrets: configured, secretKey, dataDir } = readSettings(terminal)
      const secrets = await openCallbackSecrets({ configured, secretKey, store: createCallbackSecretFile(dataDir) })
      say(secrets.of(tenant)[0]!)
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
  throw new InvalidArgumentError('It may be a number and a unit (s, m, h or d), such as 30d, up to 36500d.')
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
async function findUnknownRoles(roles: readonly string[], { agentConfig }: Settings): Promise<string[]> {
  const others = roles.filter((role) => !isBuiltInRole(role))
  if (others.length === 0) return []
  const custom = await loadAgentConfig(agentConfig).then(
    ({ access }) => access.roles,
    (error: unknown) => {
      if (error instanceof ConfigError) return {}
      throw error
    },
  )
  return others.filter((role) => !Object.hasOwn(custom, role))
}

async function withRegister<T>(settings: Settings, use: (register: AccessKeyStore) => Promise<T>): Promise<T> {
  const database = await openDatabase(settings)
  try {
    return await use(createAccessKeyStore(database))
  } finally {
    await database.close()
  }
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
