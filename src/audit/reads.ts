import type { JsonObject } from '../agent/messages.ts'
import type { Acting } from './acts.ts'

/** The caller who reads, in the tenant of the ledger. A principal fits. */
export interface Reader extends Acting {
  readonly tenant: string
}

/** Port: records reads of the ledger, and of data of others. An answer waits until its read is recorded. */
export interface AuditReads {
  /** Records a read where `audit.reads` is set. */
  read(reader: Reader, target: string): Promise<void>
  /** Records an export, always. */
  exported(reader: Reader, data: JsonObject): Promise<void>
}
