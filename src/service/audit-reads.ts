import type { SigningKeys } from '../access/keys/signing-keys.ts'
import type { Act } from '../audit/acts.ts'
import type { Sealer } from '../audit/seal.ts'
import type { AuditReads, Reader } from '../audit/reads.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import { createAuditReader } from '../store/audit/list.ts'
import { createLedgerSource } from '../store/audit/read.ts'
import type { Database } from '../store/database.ts'

interface AuditReadOptions {
  agent: CurrentAgent
  signing: Pick<SigningKeys, 'publicKeys'>
  sealer: Pick<Sealer, 'signEnd'>
}

/** Wires what is read of the ledger, and the record of reads. */
export function openAuditReads(database: Database, { agent, signing, sealer }: AuditReadOptions) {
  const record = (reader: Reader, act: Act) =>
    database.forTenant(reader.tenant).unit((connection) => database.ledger.record(connection, reader.tenant, reader, act))
  const auditReads: AuditReads = {
    async read(reader, target) {
      if (agent().config.audit.reads) await record(reader, { action: 'audit.read', target })
    },
    async exported(reader, data) {
      await record(reader, { action: 'audit.exported', target: 'audit', data, isAudited: true })
      // An export shows no more than its last signed head proves.
      await sealer.signEnd(reader.tenant)
    },
  }
  return {
    auditReads,
    auditReader: createAuditReader(database),
    ledgerSource: createLedgerSource(database),
    headKeys: () => signing.publicKeys(),
  }
}
