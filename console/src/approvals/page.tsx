import { Button } from '@mantine/core'
import { ShieldCheckIcon } from '@primer/octicons-react'
import { useRef, useState, type KeyboardEvent } from 'react'
import { PageHeader } from '../parts/page-header.tsx'
import { RowsSkeleton } from '../parts/skeletons.tsx'
import { EmptyState, FailedState } from '../parts/states.tsx'
import { ApprovalCard } from './approval-card.tsx'
import { Outcome, type Decided } from './outcome.tsx'
import { idOf, useApprovals } from './queries.ts'
import styles from './approvals.module.css'

/** Decisions whose outcome stays on the page. */
const maxDecided = 5

/** Calls that wait for a decision, with caller, expiry and conversation. `j` and `k` move between the calls. */
export function ApprovalsPage() {
  const { rows, isPending, error, retry, hasMore, loadMore, isLoadingMore } = useApprovals()
  const list = useRef<HTMLOListElement>(null)
  const [decided, setDecided] = useState<readonly Decided[]>([])
  return (
    <>
      <PageHeader title="Approvals">
        Calls of tools, and runs without a budget, that wait for a decision.{' '}
        <span className={styles.keys}>
          <kbd className={styles.key}>j</kbd> and <kbd className={styles.key}>k</kbd> move between them.
        </span>
      </PageHeader>
      {decided.map((entry) => (
        <Outcome key={idOf(entry.approval)} decided={entry} onClose={() => setDecided((before) => before.filter((row) => row !== entry))} />
      ))}
      {isPending && (
        <div className={styles.list}>
          <RowsSkeleton />
        </div>
      )}
      {error && <FailedState title="The approvals could not be loaded" error={error} retry={retry} />}
      {!isPending && !error && rows.length === 0 && <NoApprovals />}
      <ol ref={list} className={styles.list} onKeyDown={(event) => moveBetween(event, list.current)}>
        {rows.map((approval) => (
          <li key={idOf(approval)}>
            <ApprovalCard
              approval={approval}
              onDecided={(decision) => setDecided((before) => [{ approval, decision }, ...before].slice(0, maxDecided))}
            />
          </li>
        ))}
        {hasMore && (
          <li>
            <Button variant="default" loading={isLoadingMore} onClick={loadMore}>
              Show more
            </Button>
          </li>
        )}
      </ol>
    </>
  )
}

/** Moves the focus to the next card (`j`) or the one before (`k`), unless a text is being typed. */
function moveBetween(event: KeyboardEvent, list: HTMLElement | null): void {
  const { key, target } = event
  const isTyping = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement
  if (!list || isTyping || (key !== 'j' && key !== 'k')) return
  const cards = [...list.querySelectorAll<HTMLElement>('article')]
  const current = cards.findIndex((card) => card.contains(document.activeElement))
  cards[current + (key === 'j' ? 1 : -1)]?.focus()
}

function NoApprovals() {
  return (
    <EmptyState icon={ShieldCheckIcon} title="Nothing waits for a decision">
      Some tools may act only after a person has agreed. Their calls appear here, with the question that led there. Which tools these are is
      set on the screen Agent, under Approval of tools. A run that a budget has paused waits here too.
    </EmptyState>
  )
}
