import type { Logger } from 'pino'
import { createSealer, type Sealer } from '../audit/seal.ts'
import { headJob } from '../runs/callbacks/audit-heads.ts'
import type { Jobs } from '../runs/jobs.ts'
import type { Settings } from '../settings/settings.ts'
import { createRecord, createRecordAtOnce } from '../store/audit/record.ts'
import { createSealStore } from '../store/audit/seal.ts'
import type { Database } from '../store/database.ts'

interface LedgerOptions {
  jobs: Pick<Jobs, 'wake'>
  settings: Pick<Settings, 'auditCallbackUrl'>
  now(): number
  log: Logger
}

/** The audit ledger, as stores and services use it. */
export interface Ledger {
  record: ReturnType<typeof createRecord>
  recordAtOnce: ReturnType<typeof createRecordAtOnce>
  sealer: Sealer
}

/** Wires the audit ledger. Nothing is read or stored where nothing is recorded, but by the sweep of each minute. */
export function openLedger(stack: AsyncDisposableStack, database: Database, { jobs, settings, now, log }: LedgerOptions): Ledger {
  const store = createSealStore(database, settings.auditCallbackUrl === undefined ? undefined : headJob)
  const sealer = createSealer({
    store,
    now,
    onHead: () => jobs.wake('audit_head'),
    report: ({ tenant, fault, error }) =>
      fault === undefined
        ? log.error({ tenant, err: error }, 'Audit events could not be sealed')
        : log.error({ tenant, fault }, 'The audit ledger was changed'),
  })
  stack.adopt(sealer, (opened) => opened.close())
  const { wake } = sealer
  return { record: createRecord(database.db, wake), recordAtOnce: createRecordAtOnce(database.db, wake), sealer }
}
