/** A rare state of the service. `src/states.ts` publishes its name each time the state is entered. */
export interface State {
  name: string
  /** File under `src/` with the code that enters the state. */
  file: string
  /** Invariant at risk in this state. */
  invariant: string
  /** Length in seconds of a chaos run with three replicas that must reach the state; undefined for states that need luck. */
  within: number | undefined
}

type Row = [name: string, file: string, invariant: string, within?: number]

const requests: Row[] = [
  ['request-of-live-run', 'runs/intake/open.ts', 'A repeat joins the run and starts nothing', 120],
  ['request-of-remote-run', 'runs/intake/open.ts', 'A repeat on another replica starts nothing', 120],
  ['request-of-ended-run', 'runs/intake/open.ts', 'A repeat has the first outcome', 60],
  ['request-of-interrupted-run', 'runs/intake/open.ts', 'A repeat of an interrupted run decides nothing'],
  ['request-continues-run', 'runs/intake/open.ts', 'A continued run keeps its messages and makes no call again', 120],
  ['request-continuation-taken', 'runs/intake/open.ts', 'Two repeats continue a run once'],
  ['request-during-stop', 'runs/intake/open.ts', 'A repeat during the stop of an abandoned run continues it'],
  ['request-during-begin', 'runs/intake/open.ts', 'Two requests with one id begin one run', 60],
  ['request-while-stopping', 'runs/intake/admission.ts', 'A stopping process begins no run', 600],
  ['event-known', 'runs/ownership/async-runs.ts', 'A repeated event is accepted once', 600],
  ['runs-limited', 'runs/intake/admission.ts', 'A caller has no more runs than its limit', 20],
  ['runs-limited-by-store', 'runs/intake/admission.ts', 'The limit holds over all replicas', 60],
]

const queue: Row[] = [
  ['queue-entered', 'runs/ownership/live-runs.ts', 'A session executes one run at a time', 20],
  ['queue-turn-taken', 'runs/ownership/session-queue.ts', 'Runs of a session keep their order of arrival', 120],
  ['queue-left-busy', 'runs/ownership/session-queue.ts', 'A refused chat leaves no message', 120],
  ['queue-left-stopped', 'runs/ownership/session-queue.ts', 'A run that is stopped in the queue ends once', 600],
  ['queue-left-fence-lost', 'runs/ownership/live-runs.ts', 'Readers of a waiting run follow it to its new process'],
  ['queue-next-unclaimed', 'runs/ownership/session-queue.ts', 'A session is handed to an asynchronous run with its job', 600],
  ['queue-next-remote', 'runs/ownership/session-queue.ts', 'The next run of a session starts in its own process', 600],
  ['takeover-in-queue', 'store/queue/moves.ts', 'A run that is taken over in the queue keeps its place', 120],
]

const ownership: Row[] = [
  ['orphan-adopted', 'runs/ownership/take-over.ts', 'A run of a dead process goes on once', 60],
  ['orphan-released', 'runs/ownership/adopt.ts', 'An asynchronous run of a dead process is executed once', 600],
  ['orphan-taken-elsewhere', 'runs/ownership/take-over.ts', 'Two processes adopt a run once', 600],
  ['orphans-shared', 'runs/ownership/adopt.ts', 'Each orphan is adopted though each process takes a share', 120],
  ['orphan-without-reader', 'runs/execution/execute.ts', 'An orphan without a reader ends as ProcessLost, and can be continued', 120],
  ['orphan-read-again', 'runs/ownership/take-over.ts', 'A client that reconnects in time finds its run going on', 120],
  ['suspect-tried', 'runs/ownership/adopt.ts', 'A run that has lost two processes runs alone', 600],
  ['run-hopeless', 'runs/ownership/adopt.ts', 'A run that loses its process three times ends'],
  ['run-dropped', 'runs/ownership/adopt.ts', 'A run that an internal error dropped goes on'],
  ['run-superseded', 'runs/ownership/live-run.ts', 'A process that lost a run stops to execute it', 600],
  ['fence-refused', 'runs/run-store.ts', 'A process that lost a run changes nothing', 120],
  ['readers-moved', 'runs/ownership/live-runs.ts', 'Readers of a lost run continue in the new process', 120],
  ['run-handed-over', 'runs/ownership/live-runs.ts', 'A run of a stopping process goes on elsewhere, once', 600],
  ['handed-over-released', 'runs/ownership/async-runs.ts', 'An asynchronous run of a stopping process is executed once'],
  ['end-not-stored', 'runs/ownership/live-runs.ts', 'An end that was sent is stored at last'],
  ['end-stored-late', 'runs/ownership/live-runs.ts', 'The late end is the end that readers have'],
  ['client-left', 'runs/ownership/live-run.ts', 'A run without its client ends as cancelled, and can be continued', 600],
  ['client-back', 'runs/ownership/live-run.ts', 'A client that comes back in time loses no event', 600],
  ['job-outdated', 'runs/ownership/async-runs.ts', 'A job that runs twice executes its run once', 600],
  ['lease-lost', 'store/leases/holder.ts', 'A process without its lease does not write its runs', 600],
  ['loss-forgiven', 'store/leases/holder.ts', 'A process that was cut off costs its runs no loss'],
  ['renewal-failed', 'store/leases/holder.ts', 'A process that cannot renew goes on until its lease ends', 600],
  ['leases-doubted', 'store/leases/holder.ts', 'Nobody is adopted because the database was away', 60],
]

const execution: Row[] = [
  ['message-delivered', 'runs/execution/execute.ts', 'A message to a run is in its session once'],
  ['message-to-remote-run', 'runs/steering/steering.ts', 'A message reaches a run of another process'],
  ['messages-begin-next-run', 'store/runs/messages.ts', 'A message that a run has not read begins the next run'],
  ['resumed-with-progress', 'runs/execution/prepare.ts', 'A resumed run makes no recorded call again', 120],
  ['resumed-without-progress', 'runs/execution/prepare.ts', 'A resumed run has one human message', 60],
  ['resumed-in-tool', 'runs/execution/prepare.ts', 'A call without a result is repeated only if it reads', 120],
  ['write-outcome-unknown', 'agent/call.ts', 'A write that may have been made is not repeated', 600],
  ['partial-answer-replaced', 'store/queue/moves.ts', 'A continued run has one answer', 600],
  ['model-retried', 'models/retry.ts', 'A repeated model call shows no text twice', 120],
  ['model-broke-off', 'models/retry.ts', 'Readers of a broken answer begin it anew', 120],
  ['models-failed', 'models/retry.ts', 'A chat that fails keeps its message, and can be repeated', 600],
]

const approvals: Row[] = [
  ['run-interrupted', 'runs/execution/interrupt.ts', 'An interrupted run is held by no process', 120],
  ['call-held', 'agent/tool-calls.ts', 'A call that a text of strangers may cause is not made without a decision', 120],
  ['decision-resumes', 'runs/approvals/interrupted-runs.ts', 'The last decision resumes the run once', 600],
  ['decision-releases', 'runs/approvals/interrupted-runs.ts', 'A decided asynchronous run is executed once', 600],
  ['decision-repeated', 'runs/approvals/decisions.ts', 'A repeated decision changes nothing', 600],
  ['decision-too-late', 'runs/approvals/decisions.ts', 'A decision after the end of the wait makes no call', 600],
  ['approved-call-started', 'agent/tool-calls.ts', 'The start of an approved call is stored before the call', 600],
  ['interruption-cancelled', 'runs/approvals/interrupted-runs.ts', 'A cancelled call is never made', 600],
]

const cancellation: Row[] = [
  ['cancel-here', 'runs/ownership/cancel.ts', 'A cancelled run ends as cancelled', 600],
  ['cancel-remote', 'runs/ownership/cancel.ts', 'A cancellation reaches the process of the run', 600],
  ['cancel-of-lost-process', 'runs/ownership/cancel.ts', 'A run without a process is cancelled'],
  ['cancel-unclaimed', 'runs/ownership/async-runs.ts', 'A cancelled run is never executed', 600],
  ['cancel-too-late', 'runs/ownership/cancel.ts', 'A run has one end', 600],
  ['session-deleted-midway', 'runs/ownership/cancel.ts', 'A deleted session holds no run', 600],
]

const readers: Row[] = [
  ['reader-of-remote-run', 'runs/ownership/locate.ts', 'Events have the same numbers on every replica', 60],
  ['reader-of-dropped-run', 'runs/ownership/locate.ts', 'A reader waits until a run is held again'],
  ['reader-of-interrupted-run', 'runs/ownership/locate.ts', 'A reader of an interrupted run gets the rest', 600],
  ['reader-rewound', 'runs/log/event-log.ts', 'A reader ahead of the checkpoint begins anew from there', 600],
  ['reader-restarted', 'runs/log/event-log.ts', 'A reader with numbers of a lost attempt gets every event', 600],
  ['tail-gap', 'runs/ownership/remote/remote-run.ts', 'Missing events are asked for again'],
  ['tail-fault', 'runs/ownership/remote/remote-readers.ts', 'Events that could not be written are written again'],
  ['copy-of-local-run', 'runs/ownership/remote/remote-run.ts', 'A copy goes on when its run moves to the same process', 120],
]

const store: Row[] = [
  ['commit-found', 'store/postgres/scopes.ts', 'A commit without an answer is not made twice'],
  ['commit-not-found', 'store/postgres/scopes.ts', 'A commit that was lost is made again', 600],
  ['commit-unknown', 'store/postgres/scopes.ts', 'A commit whose outcome cannot be found is an error'],
  ['begin-found', 'store/runs/postgres-chat.ts', 'A begin without an answer belongs to its process'],
  ['group-stored', 'store/runs/chat-groups.ts', 'Chats that share a statement have an outcome each', 120],
  ['group-left-chats-out', 'store/runs/chat-groups.ts', 'A chat that its group leaves out is stored by itself'],
  ['group-failed', 'store/runs/chat-groups.ts', 'A group that fails stores nothing'],
  ['group-unknown', 'store/runs/chat-groups.ts', 'Each chat of a group without an answer is looked up'],
  ['unit-retried', 'store/postgres/faults.ts', 'A transaction that failed is repeated as a whole', 60],
  ['store-away', 'store/postgres/faults.ts', 'Nothing is acknowledged while the database is away', 60],
  ['bus-gap', 'store/postgres/bus.ts', 'Nothing depends on messages between processes', 600],
  ['job-failed', 'store/jobs/jobs.ts', 'A job that fails runs again'],
  ['callback-refused', 'runs/callbacks/callbacks.ts', 'A refused callback is sent again under its id', 120],
  ['callback-of-late-try', 'runs/callbacks/callbacks.ts', 'A repeated callback keeps its id', 600],
]

const administration: Row[] = [
  ['configuration-raced', 'configuration/shared/shared-configuration.ts', 'Two changes at once are made one after another', 600],
  ['configuration-refused', 'configuration/shared/shared-configuration.ts', 'A change of an old version changes nothing', 20],
  ['configuration-followed', 'configuration/shared/served-configuration.ts', 'Every process serves a new version', 120],
  ['revocation-heard', 'access/keys/issued-keys.ts', 'A revoked key stops at once', 600],
  ['revocations-stale', 'access/verify.ts', 'No key is accepted with old revocations', 120],
  ['memory-raced', 'memory/learn.ts', 'A memory that two chats learn is kept once'],
]

const budgets: Row[] = [
  ['budget-refused-run', 'budgets/budgets.ts', 'A run that no budget pays for is refused before anything is stored', 120],
  ['budget-refused-call', 'budgets/meter.ts', 'A call that no budget pays for is not made', 120],
  ['budget-shortened', 'budgets/meter.ts', 'A call that does not fit is made with a shorter answer', 60],
  ['budget-settled-first', 'budgets/meter.ts', 'Attempts that are over do not keep a run from its next call', 600],
  ['budget-window-ended', 'budgets/meter.ts', 'A call pays in the window in which it begins, by the clock of the database'],
  ['budget-unpaid', 'budgets/budgets.ts', 'What could not be settled is settled later', 600],
  ['budget-closing-call', 'agent/loop.ts', 'The rest of a budget pays for an answer', 120],
  ['budget-paused', 'agent/loop.ts', 'A paused run is held by no process, and makes no call again', 120],
  ['budget-taken-over', 'store/queue/moves.ts', 'A call of a lost process is paid in full, once', 120],
  ['budget-lost-settled', 'store/budgets/budgets.ts', 'What no run will settle is settled in full', 600],
]

/** The rare states of a service on Postgres, by part. */
export const states: readonly State[] = stated([
  ...requests,
  ...queue,
  ...ownership,
  ...execution,
  ...approvals,
  ...cancellation,
  ...readers,
  ...store,
  ...administration,
  ...budgets,
])

/** Rare states of a service on the embedded database, which chaos runs do not use. `runs/begin-commit.test.ts` reaches them. */
export const embeddedStates: readonly State[] = stated([
  ['begin-not-durable', 'runs/ownership/live-runs.ts', 'A run whose begin is not stored answers nothing and stores nothing'],
])

function stated(rows: readonly Row[]): State[] {
  return rows.map(([name, file, invariant, within]) => ({ name, file, invariant, within }))
}
