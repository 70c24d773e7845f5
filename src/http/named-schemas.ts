import type { TSchema } from 'typebox'
import { AccessKey, Caller, CreatedAccessKey, Role, SignInOptions } from './access-schemas.ts'
import { AcceptedTool, ChangedTool, ChangedToolPage, ToolDefinition } from './changed-tool-schemas.ts'
import {
  ConfigurationHistory,
  ConfigurationUpdate,
  ConfigurationVersion,
  ShownConfiguration,
  UpdatedConfiguration,
} from './configuration-schemas.ts'
import { ArtifactList, ContextFile, ContextFileList, ListedArtifact } from './file-schemas.ts'
import { MetricPoint, MetricSeries, ToolMetrics, ToolMetricsList } from './metric-schemas.ts'
import { OpenAiErrorReply } from './openai/replies.ts'
import { RpcError } from './rpc-errors.ts'
import {
  ApprovalAnswer,
  ApprovalRequired,
  AsyncBody,
  ChainAnswer,
  ChatBody,
  ClientTool,
  ClientToolAnswer,
  ClientToolCalls,
  DataFilterHint,
  ErrorReply,
  AdditionalContext,
  GeneratedArtifact,
  Step,
  StreamChunk,
  Usage,
  ValidationReply,
} from './schemas.ts'
import { A2aError } from './routes/a2a-http.ts'
import { Acknowledgement } from './routes/async.ts'
import { Metadata as AgentMetadata } from './routes/metadata.ts'
import { Decision as ApprovalDecision, List as ApprovalList, WaitingCall } from './routes/approvals.ts'
import { Download as ArtifactDownload, ShareBody as ShareRequest, Shared as SharedArtifact } from './routes/artifacts.ts'
import { Feedback, FeedbackBody as FeedbackRequest, List as MemoryList, Memory } from './routes/memories.ts'
import { Logs as LogPage, Metrics as TenantMetrics } from './routes/observability.ts'
import { Run } from './routes/runs.ts'
import { Callback, CallbackPage } from './routes/callback-list.ts'
import { RunPage, RunSummary } from './routes/run-list.ts'
import { List as SessionList, Message as SessionMessage, Session, Summary as SessionSummary } from './routes/sessions.ts'
import { Listed as SubAgent, SubAgentReply as SubAgentState } from './routes/sub-agents.ts'
import { ExecuteBody as ToolExecutionRequest, Executed as ToolExecution, ListedTool as Tool } from './routes/tools.ts'
import { RunTrace, Span } from './trace-schemas.ts'
import { Check, JobCounts, Replica, ServiceStatus } from './status-schemas.ts'

/** Named schemas of the document: a generated client gets one type for each. */
export const namedSchemas: Record<string, TSchema> = {
  Error: ErrorReply,
  ValidationError: ValidationReply,
  OpenAIError: OpenAiErrorReply,
  JsonRpcError: RpcError,
  A2aError,
  ChatRequest: ChatBody,
  DataFilterHint,
  IntermediateStep: Step,
  Usage,
  AdditionalContext,
  GeneratedArtifact,
  ClientTool,
  ApprovalRequired,
  ClientToolCalls,
  ChainAnswer,
  ApprovalAnswer,
  ClientToolAnswer,
  StreamChunk,
  AsyncChat: AsyncBody,
  Acknowledgement,
  Run,
  SessionMessage,
  Session,
  SessionSummary,
  SessionList,
  Memory,
  MemoryList,
  Feedback,
  FeedbackRequest,
  SubAgent,
  SubAgentState,
  AgentMetadata,
  ShownConfiguration,
  ConfigurationUpdate,
  UpdatedConfiguration,
  ConfigurationVersion,
  ConfigurationHistory,
  TenantMetrics,
  LogPage,
  Tool,
  ToolExecutionRequest,
  ToolExecution,
  ArtifactDownload,
  SharedArtifact,
  ShareRequest,
  ApprovalDecision,
  WaitingCall,
  ApprovalList,
  ToolMetrics,
  ToolMetricsList,
  MetricPoint,
  MetricSeries,
  ListedArtifact,
  ArtifactList,
  ContextFile,
  ContextFileList,
  Caller,
  Role,
  AccessKey,
  CreatedAccessKey,
  SignInOptions,
  ToolDefinition,
  ChangedTool,
  ChangedToolPage,
  AcceptedTool,
  Check,
  Replica,
  JobCounts,
  ServiceStatus,
  RunSummary,
  RunPage,
  Span,
  RunTrace,
  Callback,
  CallbackPage,
}
