import { Button, Group, Loader, Text } from '@mantine/core'
import { AlertIcon, ShieldCheckIcon } from '@primer/octicons-react'
import { useEffect, useRef, useState } from 'react'
import { messageOf } from '../api/errors.ts'
import { serviceUrl } from '../api/address.ts'
import { audit } from './queries.ts'
import { canVerify, createHeadCheck, verifyChain, type VerifiedChain } from './chain.ts'
import styles from './audit.module.css'

const whole = new Intl.NumberFormat('en')

type State =
  | { kind: 'idle' }
  | { kind: 'running'; events: number }
  | { kind: 'done'; chain: VerifiedChain }
  | { kind: 'failed'; error: unknown }

/** Buttons that verify the chain in this browser and export it, and the result. */
export function Verification() {
  const [state, setState] = useState<State>({ kind: 'idle' })
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])

  async function verify(): Promise<void> {
    const control = new AbortController()
    running.current = control
    setState({ kind: 'running', events: 0 })
    try {
      const { jwks } = await audit.heads({ limit: 1 }, { signal: control.signal })
      const check = await createHeadCheck(jwks.keys)
      const lines = audit.export({}, { signal: control.signal })
      const chain = await verifyChain(lines, check, (events) => setState({ kind: 'running', events }))
      setState({ kind: 'done', chain })
    } catch (error) {
      setState(control.signal.aborted ? { kind: 'idle' } : { kind: 'failed', error })
    }
  }

  return (
    <section className={styles.verification} aria-label="Verification">
      <Group gap="xs">
        <Button
          variant="default"
          leftSection={<ShieldCheckIcon />}
          disabled={!canVerify() || state.kind === 'running'}
          onClick={() => void verify()}
        >
          Verify the chain
        </Button>
        <Button component="a" variant="default" href={serviceUrl('core/v1/audit/export')} download="audit.ndjson">
          Export
        </Button>
        {state.kind === 'running' && (
          <>
            <Loader size={16} />
            <Text size="sm">{whole.format(state.events)} events</Text>
            <Button variant="subtle" size="compact-sm" onClick={() => running.current?.abort()}>
              Stop
            </Button>
          </>
        )}
      </Group>
      <div role="status">
        {state.kind === 'done' && <Result chain={state.chain} />}
        {state.kind === 'failed' && (
          <Text size="sm" className={styles.fault}>
            The chain could not be read: {messageOf(state.error)}
          </Text>
        )}
      </div>
      <Text size="sm" c="dimmed">
        {canVerify()
          ? 'This browser computes the hashes of an export that the service sends; the export is recorded. Whether the end was cut off, only a head shows that lies elsewhere: agent-core audit verify --head.'
          : 'Browsers compute hashes on https alone. Export the ledger, and use agent-core audit verify.'}
      </Text>
    </section>
  )
}

function Result({ chain: { events, first, last, signedTo, fault } }: { chain: VerifiedChain }) {
  if (fault)
    return (
      <p className={styles.fault}>
        <AlertIcon /> Broken at seq {whole.format(fault.seq)}: {fault.reason}. {events > 0 && `Right up to seq ${whole.format(last)}.`}
      </p>
    )
  if (events === 0) return <p className={styles.result}>There are no sealed events.</p>
  const signed =
    signedTo === 0 ? 'no signature was checked' : signedTo < last ? `signed up to seq ${whole.format(signedTo)}` : 'signed to its end'
  const start = first === 1 ? 'the first event' : `seq ${whole.format(first)}, where retention has cut`
  return (
    <p className={styles.result}>
      <ShieldCheckIcon />{' '}
      <span>
        <b>Chain verified up to seq {whole.format(last)}</b>: {whole.format(events)} events from {start}, {signed}.
      </span>
    </p>
  )
}
