import path from 'node:path'
import type { Logger } from 'pino'
import { createCallerIds, createRequestLimits, type RequestLimits } from '../access/rate-limits.ts'
import { createDenials } from '../access/denials.ts'
import { ensureAdminKey } from '../access/keys/admin-key.ts'
import { createAccessKeys } from '../access/keys/access-keys.ts'
import { createKeyUse, createRevocations } from '../access/keys/issued-keys.ts'
import { openLiveSigningKeys } from '../access/keys/live-signing-keys.ts'
import type { Owner } from '../access/owner.ts'
import { shareUsage } from '../access/usage-elsewhere.ts'
import type { Identity } from '../access/identity.ts'
import type { Principal } from '../access/permissions.ts'
import { createLivePrincipals, createVerifier } from '../access/verify.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import type { Bus } from '../replicas/bus.ts'
import type { AdmissionDependencies } from '../runs/intake/admission.ts'
import type { Settings } from '../settings/settings.ts'
import { createDenialRecord } from '../store/audit/denials.ts'
import { createAccessKeyStore } from '../store/secrets/access-keys.ts'
import type { Changes } from '../store/configuration/changes.ts'
import type { Database } from '../store/database.ts'
import { createRunCount } from '../store/reports/run-reports.ts'
import { createPrivateFile } from '../store/disk/private-file.ts'
import type { OpenSecrets } from './secrets.ts'

interface AccessOptions {
  agent: CurrentAgent
  database: Database
  settings: Settings
  secrets: OpenSecrets
  bus: Bus
  changes: Changes | undefined
  now: () => number
  log: Logger
}

/**
 * Interval of checks of the administrator's key: renewed 10 days before expiry, and at once after the end of the
 * signing key.
 */
const adminKeyEveryMs = 3_600_000

/** Opens access control: the signing keys, revocations, and the administrator's key in its file. */
export async function openAccess(stack: AsyncDisposableStack, options: AccessOptions) {
  const { agent, database, settings, secrets, bus, changes, now, log } = options
  const { adminTenant: tenant, accessProvider: provider, keyMaxDays: maxDays, dataDir } = settings
  const store = createAccessKeyStore(database)
  const onError = (subject: string) => (err: unknown) => log.warn({ err }, subject)
  const signing = await openLiveSigningKeys(secrets.signingKeys, {
    now,
    bus,
    onError: onError('signing keys'),
    ...(changes && { watch: changes.secrets }),
  })
  stack.adopt(signing, (keys) => keys.close())
  const revocations = await createRevocations(store, { now, bus, onError: onError('revocations') })
  stack.adopt(revocations, (opened) => opened.close())
  const { isRevoked, announce: announceRevoked } = revocations
  const customRoles = () => agent().config.access.roles
  const keyRules = { signing, provider, adminTenant: tenant, customRoles, isRevoked }
  const verifier = createVerifier({ ...keyRules, revocations, now })

  const file = createPrivateFile(path.resolve(dataDir, 'admin.key'))
  const ensure = () => ensureAdminKey({ file, shared: secrets.adminKey, tenant, signing, verifier, store, now })
  await ensure()
  const ensureInBackground = () => void ensure().catch(onError('admin.key'))
  stack.adopt(setInterval(ensureInBackground, adminKeyEveryMs).unref(), clearInterval)
  signing.onChange(ensureInBackground)
  const keyUse = stack.adopt(createKeyUse({ store, now, onError: onError('last use of keys') }), (use) => use.close())
  const keys = createAccessKeys({ store, signing, adminTenant: tenant, maxDays, customRoles, flushUse: keyUse.flush, announceRevoked, now })
  const record = createDenialRecord(database)
  const denials = createDenials({ record, adminTenant: tenant, now, onError: onError('refusals for the ledger') })
  stack.adopt(denials, (counted) => counted.close())
  const toLivePrincipal = createLivePrincipals(keyRules)
  async function principalNow(identity: Identity): Promise<Principal | undefined> {
    await revocations.freshen()
    return toLivePrincipal(identity)()
  }
  return { signing, verifier, keyRules, keys, keyUse, denials, principalNow, adminKeyFile: file.label }
}

interface LimitOptions {
  agent: CurrentAgent
  database: Database
  bus: Bus
  /** Id of this process. */
  holder: string
  /** The owners of the runs in this process, once per run that has begun and not ended. */
  running(): Iterable<Owner>
}

interface OpenLimits extends Pick<AdmissionDependencies, 'runsElsewhere' | 'countRuns'> {
  requests: RequestLimits
}

/** Wires the limits of callers, counted over all processes that share the database. */
export function openLimits(stack: AsyncDisposableStack, { agent, database, bus, holder, running }: LimitOptions): OpenLimits {
  const { isShared } = database
  const idOf = createCallerIds()
  const now = () => performance.now()
  const limits = () => agent().config.access.rate_limits
  const requests = createRequestLimits({ limits, now, idOf, isShared })
  if (!isShared) return { requests }
  const usage = stack.adopt(shareUsage({ bus, process: holder, idOf, limits, requests, running, now }), (shared) => shared.close())
  return { requests, runsElsewhere: usage.runsOf, countRuns: createRunCount(database) }
}
