import { InvalidArgumentError, type Command } from 'commander'
import { toRecord, type AccessKeyRecord, type AccessKeyStore, isKeyName, newClaims, signClaims } from '../access/keys/keys.ts'
import { openCallbackSecrets } from '../access/keys/shared-secret.ts'
import { defaultLifetime, lifetimeRule, parseLifetime } from '../access/keys/access-keys.ts'
import { isBuiltInRole, ownerOf, ownIssuer } from '../access/permissions.ts'
import { openSigningKeys, rotateSigningKeys } from '../access/keys/signing-keys.ts'
import { ConfigError } from '../configuration/problems.ts'
import type { Topic, Topics } from '../replicas/bus.ts'
import { openSecrets, type OpenSecrets } from '../service/secrets.ts'
import type { Settings } from '../settings/settings.ts'
import { createAccessKeyStore } from '../store/secrets/access-keys.ts'
import { publishOnce } from '../store/postgres/bus.ts'
import { commandActing } from './acting.ts'
import { CommandFailure, type CommandContext, type Terminal, formatTable, print } from './terminal.ts'
import { readSettings } from './prepare.ts'
import { loadUsedConfiguration, withDatabase } from './used-configuration.ts'

/** Adds commands that create, list and revoke access keys, rotate signing keys, and print callback secrets. They work with and without a running service. */
export function addKeys(program: Command, { terminal }: CommandContext): void {
  const keys = program.command('keys').description('Create, list and revoke access keys; print the secret of callbacks.')
  addCreate(keys, terminal)
  addList(keys, terminal)
  addRevoke(keys, terminal)
  addRotate(keys, terminal)
  addCallbackSecret(keys, terminal)
}

function use<T>(terminal: Terminal, settings: Settings, work: (tools: KeyTools) => Promise<T>): Promise<T> {
  return withDatabase(settings, (database) => {
    const secrets = async () => {
      const opened = await openSecrets(database, settings, Date.now)
      for (const line of opened.notices) terminal.stderr.write(`${line}\n`)
      return opened
    }
    return work({ register: createAccessKeyStore(database), secrets, publish: (topic, data) => publishOnce(database, topic, data) })
  })
}

function addCreate(keys: Command, terminal: Terminal): void {
  keys
    .command('create')
    .description('Create a key. Standard output has only the key.')
    .requiredOption('--sub <name>', 'owner of the key', toName)
    .option('--tenant <name>', 'tenant of the key', toName, 'default')
    .option('--roles <names>', 'roles, separated by commas', toRoles, ['user'])
    .option('--expires <time>', 'how long the key is valid: a number and s, m, h or d (default: 30d)')
    .addHelpText('after', '\nBuilt-in roles: viewer, user, operator, admin.')
    .action(async ({ sub, tenant, roles, expires }: CreateOptions) => {
      const settings = readSettings(terminal)
      const expiresInSeconds = parseLifetime(expires ?? defaultLifetime(settings.keyMaxDays), settings.keyMaxDays)
      if (expiresInSeconds === undefined) {
        throw new CommandFailure(2, [`error: --expires must be ${lifetimeRule(settings.keyMaxDays)}, but is ${JSON.stringify(expires)}.`])
      }
      for (const role of await findUnknownRoles(roles, settings)) {
        terminal.stderr.write(`There is no role ${JSON.stringify(role)} in the configuration: it grants nothing.\n`)
      }
      const claims = newClaims({ sub, tenant, roles, expiresInSeconds, now: Date.now() })
      const acting = await commandActing(settings)
      const key = await use(terminal, settings, async ({ register, secrets }) => {
        const { signingKeys } = await secrets()
        // The key is registered before it is signed: a working key outside the register could not be revoked, and a rotation would not know its expiry.
        await register.insert(toRecord(claims), acting)
        return signClaims((await openSigningKeys(signingKeys, Date.now)).newest(), claims)
      })
      print(terminal, key)
    })
}

function addList(keys: Command, terminal: Terminal): void {
  keys
    .command('list')
    .description('List the keys created here, newest first.')
    .option('--tenant <name>', 'list only keys of this tenant', toName)
    .action(async ({ tenant }: { tenant?: string }) => {
      const records = await use(terminal, readSettings(terminal), ({ register }) => register.list(tenant))
      print(terminal, ...toTable(records, Date.now()))
    })
}

function addRevoke(keys: Command, terminal: Terminal): void {
  keys
    .command('revoke [jti]')
    .description('Revoke a key. With Postgres every replica refuses the key at once; otherwise a running service does within 5 s.')
    .option('--created-by <caller>', 'revoke the keys that a caller created over HTTP instead, and those created with them', toName)
    .option('--tenant <name>', 'with --created-by: only keys of this tenant', toName)
    .addHelpText('after', '\nA caller is the sub of its key, or for callers of an identity provider "<issuer> <sub>".')
    .action(async (jti: string | undefined, { createdBy, tenant }: { createdBy?: string; tenant?: string }) => {
      if ((jti === undefined) === (createdBy === undefined))
        throw new CommandFailure(2, ['error: keys revoke needs the id of a key or --created-by.'])
      if (jti === undefined) return revokeCreatedBy(terminal, createdBy!, tenant)
      const settings = readSettings(terminal)
      const acting = await commandActing(settings)
      const revoked = await use(terminal, settings, async ({ register, publish }) => {
        const revocation = await register.revoke(jti, Date.now(), { acting })
        if (revocation?.isNew) await publish('revoked', { jti })
        return revocation
      })
      if (!revoked) throw new CommandFailure(1, [`There is no key ${JSON.stringify(jti)}; "agent-core keys list" lists the keys.`])
      print(terminal, revoked.isNew ? `Revoked ${jti}.` : `${jti} was already revoked.`)
    })
}

async function revokeCreatedBy(terminal: Terminal, caller: string, tenant: string | undefined): Promise<void> {
  const owner = caller.includes(' ') ? caller : ownerOf(ownIssuer, caller)
  const settings = readSettings(terminal)
  const acting = await commandActing(settings)
  const revoked = await use(terminal, settings, async ({ register, publish }) => {
    const jtis = await register.revokeCreatedBy(owner, Date.now(), { acting, ...(tenant !== undefined && { tenant }) })
    for (const revokedJti of jtis) await publish('revoked', { jti: revokedJti })
    return jtis
  })
  for (const revokedJti of revoked) print(terminal, `Revoked ${revokedJti}.`)
  if (revoked.length === 0) print(terminal, `There are no active keys that ${JSON.stringify(owner)} created.`)
}

function addRotate(keys: Command, terminal: Terminal): void {
  keys
    .command('rotate')
    .description('Create a new signing key. Existing access keys stay valid until they expire.')
    .option('--now', 'invalidate all existing access keys and links')
    .addHelpText('after', '\nA running service uses the new key within seconds, without a restart.')
    .action(async ({ now: endNow = false }: { now?: boolean }) => {
      const until = await use(terminal, readSettings(terminal), async ({ register, secrets, publish }) => {
        const { signingKeys } = await secrets()
        const { latestExpiry } = register
        const until = await rotateSigningKeys(signingKeys, { now: Date.now, latestExpiry, endNow })
        await publish('signing_keys', { newest: (await openSigningKeys(signingKeys, Date.now)).newest().kid })
        return until
      })
      print(terminal, 'The new signing key is in use.')
      if (until !== undefined) print(terminal, `Existing access keys stay valid until they expire; the last expires at ${toTime(until)}.`)
      else print(terminal, 'All existing access keys are invalid. The service writes a new admin.key, at the latest when it starts.')
    })
}

function addCallbackSecret(keys: Command, terminal: Terminal): void {
  keys
    .command('callback-secret')
    .description('Print the secret that signs callbacks, for their receiver (Standard Webhooks).')
    .option('--tenant <name>', 'tenant of the callbacks', toName, 'default')
    .addHelpText('after', '\nIf CALLBACK_SECRET has two secrets, the first is printed.')
    .action(async ({ tenant }: { tenant: string }) => {
      const secretsOf = await use(
        terminal,
        readSettings(terminal),
        async ({ secrets }) => (await openCallbackSecrets((await secrets()).callbacks)).forTenant,
      )
      print(terminal, secretsOf(tenant)[0]!)
    })
}

interface CreateOptions {
  sub: string
  tenant: string
  roles: string[]
  expires?: string
}

function toName(text: string): string {
  if (isKeyName(text)) return text
  throw new InvalidArgumentError('A name has 1 to 256 characters and no control characters.')
}

function toRoles(text: string): string[] {
  const roles = text.split(',').map((role) => role.trim())
  return [...new Set(roles.map(toName))]
}

/** Roles missing from the configuration. They only cause a warning, because the configuration may get them later. */
async function findUnknownRoles(roles: readonly string[], settings: Settings): Promise<string[]> {
  const customRoles = roles.filter((role) => !isBuiltInRole(role))
  if (customRoles.length === 0) return []
  const configuredRoles = await loadUsedConfiguration(settings).then(
    ({ config }) => config.access.roles,
    (error: unknown) => {
      if (error instanceof ConfigError) return {}
      throw error
    },
  )
  return customRoles.filter((role) => !Object.hasOwn(configuredRoles, role))
}

interface KeyTools {
  register: AccessKeyStore
  /** Opens the secrets; notices about secrets moved to the database go to standard error. */
  secrets(): Promise<OpenSecrets>
  /** Publishes an event to the running processes of the service. */
  publish<T extends Topic>(topic: T, data: Topics[T]): Promise<void>
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
    record.creator?.owner ?? '',
  ])
  return formatTable([['jti', 'tenant', 'sub', 'roles', 'created', 'expires', 'state', 'created by'], ...rows])
}

function toTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}
