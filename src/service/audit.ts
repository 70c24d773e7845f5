import type { Logger } from 'pino'
import { toSigningKeys, type SigningKeys } from '../access/keys/signing-keys.ts'
import { createSealer, type Sealer } from '../audit/seal.ts'
import { headJob } from '../runs/callbacks/audit-heads.ts'
import type { Jobs } from '../runs/jobs.ts'
import type { Settings } from '../settings/settings.ts'
import { createSealStore } from '../store/audit/seal.ts'
import type { Database } from '../store/database.ts'
import { openSecrets } from './secrets.ts'

/** The signing keys of a service, for commands beside the service. Undefined where no service has made any. */
export async function loadSigningKeys(database: Database, settings: Settings): Promise<SigningKeys | undefined> {
  const { signingKeys } = await openSecrets(database, settings, Date.now)
  const text = await signingKeys.load()
  return text === undefined ? undefined : toSigningKeys(text, signingKeys.label, Date.now)
}

interface SealerParts {
  jobs: Pick<Jobs, 'wake'>
  settings: Pick<Settings, 'auditCallbackUrl'>
  now(): number
  log: Logger
}

/** Seals what the ledger of the database records. Nothing is read or stored where nothing is recorded, but by the sweep of each minute. */
export function openSealer(stack: AsyncDisposableStack, database: Database, { jobs, settings, now, log }: SealerParts): Sealer {
  const sealer = createSealer({
    store: createSealStore(database, settings.auditCallbackUrl === undefined ? undefined : headJob),
    now,
    onHead: () => jobs.wake('audit_head'),
    report: ({ tenant, fault, error }) =>
      fault === undefined
        ? log.error({ tenant, err: error }, 'Audit events could not be sealed')
        : log.error({ tenant, fault }, 'The audit ledger was changed'),
  })
  return stack.adopt(sealer, (opened) => opened.close())
}
