import { parseLine, toLine } from './export.ts'
import { isOwnEnd, type LedgerKeys, type SignedHead, type StoredEnd } from './heads.ts'
import type { LedgerSource, Link } from './ledger-source.ts'
import { createVerifier, LedgerBroken, type VerifiedChain } from './verify.ts'

export interface CheckOptions {
  keys: LedgerKeys
  /** Heads that lie elsewhere. */
  heads?: readonly SignedHead[]
  tenant?: string | undefined
}

/** Checks the stored ledger of one tenant or of all. Throws `LedgerBroken`. */
export async function checkLedger(source: LedgerSource, { keys, heads = [], tenant }: CheckOptions): Promise<VerifiedChain[]> {
  const chains: VerifiedChain[] = []
  const tenants = tenant === undefined ? [...new Set([...(await source.tenants()), ...heads.map((head) => head.tenant)])] : [tenant]
  for (const name of tenants) {
    const ofTenant = heads.filter((head) => head.tenant === name)
    chains.push(await checkTenant(source, name, keys, ofTenant))
  }
  return chains
}

async function checkTenant(source: LedgerSource, tenant: string, keys: LedgerKeys, heads: readonly SignedHead[]): Promise<VerifiedChain> {
  const { links, end, cut } = await source.open(tenant)
  try {
    const verifier = createVerifier({ keys: keys.publicKeys(), heads, isWhole: true })
    for await (const link of links) verifier.add(link)
    const [chain = { tenant, count: 0, from: 0, to: 0, hash: '', signedTo: 0, before: [] }] = verifier.end()
    checkEnd(chain, end, keys)
    return chain
  } catch (error) {
    // Retention removed events meanwhile.
    if (error instanceof LedgerBroken && (await source.open(tenant)).cut > cut) return checkTenant(source, tenant, keys, heads)
    throw error
  }
}

/** The chain ends where the service has sealed its last event: nothing is appended or cut off, unless the stored end was exchanged too. */
function checkEnd({ tenant, to, hash }: VerifiedChain, end: StoredEnd | undefined, keys: LedgerKeys): void {
  const seq = end?.seq ?? 0
  if (to > seq) throw new LedgerBroken(tenant, seq + 1, `the service has sealed up to seq ${seq}: another program added the event`)
  if (to < seq) throw new LedgerBroken(tenant, to + 1, `missing: the service has sealed up to seq ${seq}`)
  if (end && end.hash !== hash) throw new LedgerBroken(tenant, to, 'the service has sealed another event with this number')
  if (end && !isOwnEnd(end, keys))
    throw new LedgerBroken(tenant, to, 'the stored end of the chain is not of the service, or its signing key is gone')
}

/** Checks the lines of an export. Throws `LedgerBroken`. */
export async function checkLines(
  lines: AsyncIterable<string>,
  options: Omit<Parameters<typeof createVerifier>[0], 'isWhole'>,
): Promise<VerifiedChain[]> {
  const verifier = createVerifier({ ...options, isWhole: false })
  let place = { tenant: '', seq: 0 }
  let number = 0
  for await (const line of lines) {
    number += 1
    const link = readLine(line, number, place)
    verifier.add(link)
    if (toLine(link) !== line)
      throw new LedgerBroken(linkOf(link).tenant, linkOf(link).seq, `line ${number} is not in the form of an export`)
    place = linkOf(link)
  }
  return verifier.end()
}

function readLine(line: string, number: number, { tenant, seq }: { tenant: string; seq: number }): Link {
  try {
    return parseLine(line)
  } catch {
    throw new LedgerBroken(tenant, seq + 1, `line ${number} is no event and no head`)
  }
}

function linkOf(link: Link): { tenant: string; seq: number } {
  return 'event' in link ? link.event : link.head
}
