import type { Act } from '../audit/acts.ts'
import type { AuditReads, Reader } from '../audit/reads.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import { createAuditReader } from '../store/audit/list.ts'
import type { Database } from '../store/database.ts'

/** Wires what is read of the ledger, and the record of reads. */
export function openAuditReads(
  database: Database,
  agent: CurrentAgent,
): { auditReader: ReturnType<typeof createAuditReader>; auditReads: AuditReads } {
  const record = (reader: Reader, act: Act) =>
    database.forTenant(reader.tenant).unit((connection) => database.ledger.record(connection, reader.tenant, reader, act))
  return {
    auditReader: createAuditReader(database),
    auditReads: {
      async read(reader, target) {
        if (agent().config.audit.reads) await record(reader, { action: 'audit.read', target })
      },
      exported: (reader, data) => record(reader, { action: 'audit.exported', target: 'audit', data, isAudited: true }),
    },
  }
}
