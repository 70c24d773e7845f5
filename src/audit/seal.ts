import { isOwnEnd, signHead, type LedgerKeys, type SignedHead, type StoredEnd } from './heads.ts'

/** Port: events that wait for their place in the chain of their tenant. */
export interface SealStore {
  /** Tenants with events that are not sealed. */
  unsealed(): Promise<string[]>
  /**
   * Appends the oldest unsealed events of a tenant to the chain, at most `limit`, in one transaction. Undefined while another process seals
   * events of the tenant.
   */
  seal(tenant: string, options: { limit: number; now: number; keys: LedgerKeys }): Promise<Sealing | undefined>
  /** Ends of chains without a head: those whose time to be signed has come, or that of a tenant. */
  unsigned(which: { now: number } | { tenant: string }): Promise<StoredEnd[]>
  /** Stores a head, with the job that sends the head. False where the head is stored already. */
  addHead(head: SignedHead, now: number): Promise<boolean>
}

export interface Sealing {
  /** Number of sealed events. */
  count: number
  /** What the database has that the service did not store, in a sentence. The chain goes on behind a gap, which `verify` names. */
  fault?: string
  /** The end of the chain, where its head is to be signed. */
  due?: { seq: number; hash: string }
}

export interface SealerOptions {
  store: SealStore
  /** Epoch milliseconds. */
  now(): number
  /** Wakes the worker that sends heads. */
  onHead(): void
  /** `fault`: the database was changed by another program. */
  report(problem: { tenant?: string; fault?: string; error?: unknown }): void
  delayMs?: number
  sweepMs?: number
  batch?: number
}

/** Seals events soon after their commit, and signs heads. */
export interface Sealer {
  /** Called where events are recorded: their commit is near. */
  wake(): void
  /** Begins to seal, with the keys of the service. */
  start(keys: LedgerKeys): void
  /** Seals the events of a tenant that are visible now, and signs the end of the chain. */
  signEnd(tenant: string): Promise<void>
  /** Seals what this process has recorded. */
  close(): Promise<void>
}

/** Batches of a tenant in one pass: other tenants have their turn. */
const maxBatches = 50

/** A process that recorded nothing for this number of passes makes no statement until the next sweep. */
const emptyPasses = 2

export function createSealer({ store, now, onHead, report, delayMs = 1000, sweepMs = 60_000, batch = 200 }: SealerOptions): Sealer {
  let keys: LedgerKeys | undefined
  let timer: NodeJS.Timeout | undefined
  let sweep: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let passesLeft = 0
  let isSweepDue = false
  let isClosed = false

  function wake(): void {
    passesLeft = emptyPasses
    schedule()
  }

  function schedule(): void {
    if (!keys || isClosed || passesLeft === 0 || timer || running) return
    timer = setTimeout(() => {
      timer = undefined
      void pass()
    }, delayMs).unref()
  }

  /** Passes run in sequence: a sweep during a pass is part of the next. */
  function pass(): Promise<void> {
    running ??= sealTenants()
      .catch((error: unknown) => report({ error }))
      .finally(() => {
        running = undefined
        schedule()
      })
    return running
  }

  async function sealTenants(): Promise<void> {
    const isSweep = isSweepDue
    isSweepDue = false
    passesLeft = Math.max(0, passesLeft - 1)
    for (const tenant of await store.unsealed()) {
      await sealTenant(tenant).then(goOn, (error: unknown) => report({ tenant, error }))
    }
    if (isSweep) await signUnsigned({ now: now() })
  }

  function startSweep(): void {
    isSweepDue = true
    goOn()
    void pass()
  }

  /** Another pass follows. */
  function goOn(): void {
    passesLeft = Math.max(1, passesLeft)
  }

  async function signUnsigned(which: Parameters<SealStore['unsigned']>[0]): Promise<void> {
    for (const end of await store.unsigned(which)) {
      // A signature on what another program has written would make it right.
      if (isOwnEnd(end, keys!)) await sign(end.tenant, end).catch((error: unknown) => report({ tenant: end.tenant, error }))
      else report({ tenant: end.tenant, fault: 'The end of the chain was changed by another program, or its signing key is gone.' })
    }
  }

  async function sealTenant(tenant: string): Promise<void> {
    for (let n = 0, count = batch; n < maxBatches && count === batch && !isClosed; n++) {
      const sealing = await store.seal(tenant, { limit: batch, now: now(), keys: keys! })
      if (!sealing) return
      count = sealing.count
      if (sealing.fault !== undefined) report({ tenant, fault: sealing.fault })
      if (sealing.due) await sign(tenant, sealing.due)
    }
  }

  async function sign(tenant: string, { seq, hash }: { seq: number; hash: string }): Promise<void> {
    const at = now()
    const head = await signHead({ tenant, kind: 'head', seq, hash, at: new Date(at).toISOString() }, keys!)
    if (await store.addHead(head, at)) onHead()
  }

  return {
    wake,
    start(ledgerKeys) {
      keys = ledgerKeys
      // A process that died may have recorded something.
      goOn()
      sweep = setInterval(startSweep, sweepMs).unref()
      schedule()
    },
    async signEnd(tenant) {
      await sealTenant(tenant)
      await signUnsigned({ tenant })
    },
    async close() {
      await running
      if (keys && passesLeft > 0) await pass()
      isClosed = true
      clearTimeout(timer)
      clearInterval(sweep)
      await running
    },
  }
}
