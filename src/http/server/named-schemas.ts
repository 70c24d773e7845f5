import type { TSchema } from 'typebox'
import { AccessKey, Caller, CreatedAccessKey, Role, SignInOptions } from '../resources/access-schemas.ts'
import { AcceptedTool, ChangedTool, ChangedToolPage, ToolDefinition } from '../resources/changed-tool-schemas.ts'
import {
  ConfigurationHistory,
  ConfigurationUpdate,
  ConfigurationVersion,
  ShownConfiguration,
  UpdatedConfiguration,
} from '../resources/configuration-schemas.ts'
import { ArtifactList, ContextFile, ContextFileList, ListedArtifact } from '../resources/file-schemas.ts'
import { MetricPoint, MetricSeries, ToolMetrics, ToolMetricsList } from '../resources/metric-schemas.ts'
import { OpenAiErrorReply } from '../doors/openai/replies.ts'
import { RpcError } from '../doors/rpc-errors.ts'
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
} from '../resources/schemas.ts'
import { A2aError } from '../doors/a2a/http-routes.ts'
import { Acknowledgement } from '../doors/core/async.ts'
import { Metadata as AgentMetadata } from '../resources/metadata.ts'
import { Decision as ApprovalDecision, List as ApprovalList, WaitingCall } from '../doors/core/approvals.ts'
import { Download as ArtifactDownload, ShareBody as ShareRequest, Shared as SharedArtifact } from '../resources/artifacts.ts'
import { Feedback, FeedbackBody as FeedbackRequest, List as MemoryList, Memory } from '../resources/memories.ts'
import { Logs as LogPage, Metrics as TenantMetrics } from '../resources/observability.ts'
import { Run } from '../resources/runs.ts'
import { Callback, CallbackPage } from '../resources/callback-list.ts'
import { RunPage, RunSummary } from '../resources/run-list.ts'
import { List as SessionList, Message as SessionMessage, Session, Summary as SessionSummary } from '../resources/sessions.ts'
import { Listed as SubAgent, SubAgentReply as SubAgentState } from '../resources/sub-agents.ts'
import { ExecuteBody as ToolExecutionRequest, Executed as ToolExecution, ListedTool as Tool } from '../resources/tools.ts'
import { RunTrace, Span } from '../resources/trace-schemas.ts'
import { Check, JobCounts, Replica, ServiceStatus } from '../resources/status-schemas.ts'

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
