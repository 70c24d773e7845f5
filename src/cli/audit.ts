import { createWriteStream } from 'node:fs'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { InvalidArgumentError, type Command } from 'commander'
import type { SigningKeys } from '../access/keys/signing-keys.ts'
import { checkLedger, checkLines } from '../audit/check-ledger.ts'
import { exportLines } from '../audit/export.ts'
import { createSealer } from '../audit/seal.ts'
import { LedgerBroken, type LateEvents, type VerifiedChain } from '../audit/verify.ts'
import { messageWithCause } from '../errors.ts'
import { parseTime, timeFault } from '../json/time.ts'
import { loadSigningKeys } from '../service/audit.ts'
import { createLedgerSource } from '../store/audit/read.ts'
import { createSealStore } from '../store/audit/seal.ts'
import type { Database } from '../store/database.ts'
import { actingUnder } from './acting.ts'
import { readHeads, readKeys, readLines } from './audit-files.ts'
import { readSettings } from './prepare.ts'
import { CommandFailure, type CommandContext, print, type Terminal, visible } from './terminal.ts'
import { withDatabase } from './used-configuration.ts'

/** Adds commands that verify and export the audit ledger. They work with and without a running service. */
export function addAudit(program: Command, { terminal }: CommandContext): void {
  const audit = program.command('audit').description('Verify and export the audit ledger.')
  addVerify(audit, terminal)
  addExport(audit, terminal)
  audit
    .command('keys')
    .description('Print the public keys that verify signed heads (JWKS), former keys too.')
    .action(() => withLedger(terminal, async (_, signing) => print(terminal, JSON.stringify({ keys: signing.publicKeys() }, undefined, 2))))
}

interface VerifyOptions {
  key?: string
  head?: string
  tenant?: string
}

function addVerify(audit: Command, terminal: Terminal): void {
  audit
    .command('verify [file]')
    .description('Check the chain and the signed heads of the ledger in the database, or of an exported file without any service.')
    .option('--key <jwks>', 'a file with the public keys (default: the keys of the service; of a file none)')
    .option('--head <file>', 'a file with heads that lie elsewhere, such as those that AUDIT_CALLBACK_URL has received')
    .option('--tenant <name>', 'only the ledger of this tenant in the database (default: all)')
    .addHelpText(
      'after',
      '\nExits with 1 where the ledger was changed, and names the first number where.\nOnly a head that lies elsewhere shows that the end of a ledger was cut off.\nEvents of a file behind the last signed head show nothing about who wrote them.',
    )
    .action(async (file: string | undefined, { key, head, tenant }: VerifyOptions) => {
      const keys = key === undefined ? undefined : await readKeys(terminal, key)
      const heads = head === undefined ? [] : await readHeads(terminal, head)
      const check = file === undefined ? checkDatabase(terminal, { keys, heads, tenant }) : checkFile(terminal, file, { keys, heads })
      const lines = await check.catch((error: unknown) => {
        if (error instanceof LedgerBroken) throw new CommandFailure(1, [visible(`${labelOf(error.tenant)}: ${error.message}`)])
        throw error
      })
      print(terminal, ...lines)
    })
}

type Evidence = Omit<Parameters<typeof checkLines>[1], 'keys'> & { keys: Awaited<ReturnType<typeof readKeys>> | undefined }

async function checkFile(terminal: Terminal, file: string, { keys, heads }: Evidence): Promise<string[]> {
  const chains = await checkLines(readLines(terminal, file), { heads: heads ?? [], ...(keys && { keys }) })
  if (chains.length === 0) throw new CommandFailure(2, [`${file} has no events: nothing was verified.`])
  return [...chains.flatMap(describe), ...(keys ? [] : ['No signature was checked: pass the public keys with --key.'])]
}

function checkDatabase(terminal: Terminal, { keys, heads, tenant }: Evidence & Pick<VerifyOptions, 'tenant'>): Promise<string[]> {
  return withLedger(terminal, async (database, signing) => {
    const source = createLedgerSource(database)
    const chains = await checkLedger(source, { keys: { ...signing, ...(keys && { publicKeys: () => keys }) }, heads: heads ?? [], tenant })
    const lines: string[] = []
    for (const chain of chains) {
      const unsealed = await source.countUnsealed(chain.tenant)
      lines.push(...describe(chain), ...(unsealed > 0 ? [`${labelOf(chain.tenant)}: ${unsealed} events are not sealed yet.`] : []))
    }
    return chains.length === 0 ? ['The ledger is empty.'] : lines
  })
}

function describe({ tenant, count, from, to, signedTo, before, late }: VerifiedChain): string[] {
  const range = to === 0 ? 'no events' : count === 0 ? `no events behind seq ${to}` : `seq ${from} to ${to} verified`
  const signed = signedTo === 0 ? 'no head is signed' : signedTo < to ? `signed to seq ${signedTo}` : 'signed to the end'
  const label = labelOf(tenant)
  const earlier = before.length === 0 ? [] : [`${label}: given heads before the first event were not compared: seq ${before.join(', ')}.`]
  return [`${label}: ${range}; ${signed}.`, ...earlier, ...(late ? [describeLate(label, late)] : [])]
}

/** No fault by itself. Whoever writes to the database cannot make the service sign with an earlier time. */
function describeLate(label: string, { from, to, ms }: LateEvents): string {
  const days = Math.floor(ms / 86_400_000)
  const cause = 'the service was stopped, a clock was wrong, or another program wrote or rewrote events'
  return `${label}: seq ${from} to ${to} were signed up to ${days} ${days === 1 ? 'day' : 'days'} after their time: ${cause}.`
}

/** The name of a tenant. A file may have a name that reads as a result, so that what is no plain word is quoted. */
function labelOf(tenant: string): string {
  return /^[\w.@-]+$/.test(tenant) ? tenant : visible(JSON.stringify(tenant))
}

interface ExportOptions {
  since?: number
  until?: number
  tenant?: string
}

function addExport(audit: Command, terminal: Terminal): void {
  audit
    .command('export [file]')
    .description('Write the ledger as lines of JSON, with signed heads in between. The export is itself an event.')
    .option('--since <time>', 'only events since an ISO 8601 time with its zone', toTime)
    .option('--until <time>', 'only events before an ISO 8601 time with its zone', toTime)
    .option('--tenant <name>', 'only the ledger of this tenant (default: all)')
    .action((file: string | undefined, { tenant, ...range }: ExportOptions) =>
      withLedger(terminal, async (database, signing) => {
        const source = createLedgerSource(database)
        const tenants = tenant === undefined ? await source.tenants() : [tenant]
        await recordExport(terminal, database, tenants, range)
        await signEnds(database, signing, tenants)
        const target = file === undefined ? terminal.stdout : createWriteStream(path.resolve(terminal.cwd, file), { mode: 0o600 })
        await pipeline(Readable.from(exportLines(source, { tenant, ...range })), target, { end: file !== undefined }).catch(
          (error: NodeJS.ErrnoException) => {
            throw error.syscall === 'open' && file !== undefined
              ? new CommandFailure(2, [`${file} cannot be written (${error.code}).`])
              : error
          },
        )
      }),
    )
}

async function recordExport(terminal: Terminal, database: Database, tenants: readonly string[], range: ExportOptions): Promise<void> {
  const acting = actingUnder(undefined, readSettings(terminal))
  const data = Object.fromEntries(Object.entries(range).map(([name, time]) => [name, new Date(time as number).toISOString()]))
  const act = { action: 'audit.exported', target: 'audit', data, isAudited: true } as const
  for (const tenant of tenants) {
    await database.forTenant(tenant).unit((connection) => database.ledger.record(connection, tenant, acting, act))
  }
}

/** Without a signed head at its end, an export would show less than the service knows. */
async function signEnds(database: Database, signing: SigningKeys, tenants: readonly string[]): Promise<void> {
  const report = ({ tenant, fault, error }: { tenant?: string; fault?: string; error?: unknown }) => {
    throw new CommandFailure(1, [`${labelOf(String(tenant))}: ${fault ?? messageWithCause(error)}`])
  }
  const sealer = createSealer({ store: createSealStore(database), now: Date.now, onHead: () => undefined, report })
  sealer.start(signing)
  for (const tenant of tenants) await sealer.signEnd(tenant)
  await sealer.close()
}

/** Calls `use` with the database and the signing keys. What cannot be opened is exit code 2. */
async function withLedger<T>(terminal: Terminal, use: (database: Database, signing: SigningKeys) => Promise<T>): Promise<T> {
  const settings = readSettings(terminal)
  let isOpen = false
  const opened = withDatabase(settings, async (database) => {
    const signing = await loadSigningKeys(database, settings)
    if (!signing) throw new Error('There is no signing key: no service was started here yet.')
    isOpen = true
    return use(database, signing)
  })
  return opened.catch((error: unknown) => {
    throw isOpen ? error : new CommandFailure(2, [messageWithCause(error)])
  })
}

function toTime(text: string): number {
  const time = parseTime(text)
  if (time === undefined) throw new InvalidArgumentError(`The value ${timeFault}.`)
  return time
}
