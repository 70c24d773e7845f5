/** A program that tries to break a guarantee. The exit code is 1 when the program has found a fault. */
export interface Proof {
  name: string
  /** Path from the root of the repository. */
  script: string
  /** The arguments for a share of the full size; 1 is the full size. */
  argumentsFor(scale: number, seed: number): string[]
}

/** All proofs, in the order in which they run. */
export const proofs: readonly Proof[] = [
  {
    name: 'chaos',
    script: 'proofs/chaos/run.ts',
    argumentsFor: (scale, seed) => ['--seconds', share(600, scale, 5), '--seed', String(seed)],
  },
  {
    name: 'interleavings',
    script: 'proofs/interleavings/run.ts',
    argumentsFor: (scale, seed) => ['--schedules', share(100_000, scale, 1000), '--threads', '2', '--seed', String(seed)],
  },
  {
    name: 'disk-faults',
    script: 'proofs/disk-faults/run.ts',
    argumentsFor: (scale, seed) => ['--scripts', share(400, scale, 1), '--losses', share(40, scale, 1), '--seed', String(seed)],
  },
  {
    name: 'kills',
    script: 'proofs/kills/run.ts',
    argumentsFor: (scale, seed) => ['--kills', share(100, scale, 1), '--seed', String(seed)],
  },
  {
    name: 'ledger',
    script: 'proofs/ledger/run.ts',
    argumentsFor: (scale, seed) => ['--writes', share(10_000, scale, 100), '--seed', String(seed)],
  },
  {
    name: 'steering',
    script: 'proofs/steering/run.ts',
    argumentsFor: (scale, seed) => ['--runs', share(2000, scale, 20), '--kills', share(40, scale, 1), '--seed', String(seed)],
  },
  {
    name: 'hostile',
    script: 'proofs/hostile/run.ts',
    argumentsFor: (scale, seed) => ['--requests', share(100_000, scale, 100), '--seed', String(seed)],
  },
  {
    name: 'soak',
    script: 'proofs/soak/run.ts',
    argumentsFor: (scale, seed) => ['--minutes', share(60, scale, 1), '--seed', String(seed)],
  },
]

/** A whole number, at least `least`. */
function share(full: number, scale: number, least: number): string {
  return String(Math.max(least, Math.round(full * scale)))
}

/** The proofs of these names, in their usual order; all proofs without a name. Throws for an unknown name. */
export function selectProofs(names: readonly string[], all = proofs): Proof[] {
  const unknown = names.find((name) => !all.some((proof) => proof.name === name))
  if (unknown !== undefined) throw new Error(`There is no proof "${unknown}". The proofs are: ${all.map(({ name }) => name).join(', ')}.`)
  return all.filter(({ name }) => names.length === 0 || names.includes(name))
}
