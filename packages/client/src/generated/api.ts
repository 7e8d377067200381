/* Made from docs/openapi.json by `npm run docs:generate`; a test compares. What tenants call, and its good answers: */
/* anything else is a problem document, which the client throws as an ApiError. */
export interface paths {
    readonly "/v1/messages": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Send a message; its run is its fate
         * @description Needs the scope `messages:write`.
         */
        readonly post: operations["createMessage"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/runs": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List runs, newest first
         * @description Needs the scope `runs:read`.
         */
        readonly get: operations["listRuns"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/runs/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Read a run, or wait for its end
         * @description Needs the scope `runs:read`.
         */
        readonly get: operations["getRun"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/runs/{id}/events": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The events of a run, from its beginning or a cursor on to its end
         * @description Needs the scope `runs:read`.
         */
        readonly get: operations["streamRun"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/runs/{id}/cancel": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Cancel a run
         * @description Needs the scope `messages:write`.
         */
        readonly post: operations["cancelRun"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/events/{id}/timeline": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * What happened to an event
         * @description Needs the scope `runs:read`.
         */
        readonly get: operations["getTimeline"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/events": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The events of all conversations, from a cursor on or from now on
         * @description Needs the scope `sessions:read`.
         */
        readonly get: operations["streamTenant"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/sessions": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List conversations
         * @description Needs the scope `sessions:read`.
         */
        readonly get: operations["listSessions"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/sessions/{session}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Read a conversation
         * @description Needs the scope `sessions:read`.
         */
        readonly get: operations["getSession"];
        readonly put?: never;
        readonly post?: never;
        /**
         * Delete a conversation
         * @description Needs the scope `sessions:write`.
         */
        readonly delete: operations["deleteSession"];
        readonly options?: never;
        readonly head?: never;
        /**
         * Label a conversation
         * @description Needs the scope `sessions:write`.
         */
        readonly patch: operations["updateSession"];
        readonly trace?: never;
    };
    readonly "/v1/sessions/{session}/history": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Read the messages of a conversation
         * @description Needs the scope `sessions:read`.
         */
        readonly get: operations["getHistory"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/sessions/{session}/events": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * The events of a conversation, from a seq on or from now on
         * @description Needs the scope `sessions:read`.
         */
        readonly get: operations["streamSession"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/sessions/{session}/stop": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Control a conversation: stop
         * @description Needs the scope `sessions:write`.
         */
        readonly post: operations["stopSession"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/sessions/{session}/suspend": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Control a conversation: suspend
         * @description Needs the scope `sessions:write`.
         */
        readonly post: operations["suspendSession"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/sessions/{session}/resume": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Control a conversation: resume
         * @description Needs the scope `sessions:write`.
         */
        readonly post: operations["resumeSession"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/sessions/{session}/archive": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Control a conversation: archive
         * @description Needs the scope `sessions:write`.
         */
        readonly post: operations["archiveSession"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/sessions/{session}/pause": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Control a conversation: pause
         * @description Needs the scope `sessions:write`.
         */
        readonly post: operations["pauseSession"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/sessions/{session}/unpause": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Control a conversation: unpause
         * @description Needs the scope `sessions:write`.
         */
        readonly post: operations["unpauseSession"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/sessions/{session}/reset": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Begin a new session
         * @description Needs the scope `sessions:write`.
         */
        readonly post: operations["resetSession"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/sessions/{session}/outbound": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Send a message without a turn
         * @description Needs the scope `sessions:write`.
         */
        readonly post: operations["sendOutbound"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/inputs/{id}/answer": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Answer a turn that waits for a person
         * @description Needs the scope `messages:write`.
         */
        readonly post: operations["answerInput"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/deliveries": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List deliveries, newest first
         * @description Needs the scope `runs:read`.
         */
        readonly get: operations["listDeliveries"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/deliveries/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Read a delivery and its text
         * @description Needs the scope `runs:read`.
         */
        readonly get: operations["getDelivery"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/deliveries/{id}/retry": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Send a delivery again, marked when it may have arrived
         * @description Needs the scope `deliveries:write`.
         */
        readonly post: operations["retryDelivery"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/deliveries/{id}/resolve": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Say that a delivery arrived, or give it up
         * @description Needs the scope `deliveries:write`.
         */
        readonly post: operations["resolveDelivery"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/search": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Messages that hold all words and phrases of q, newest first
         * @description Needs the scope `search:read`.
         */
        readonly get: operations["search"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/limits": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Read the limits of the tenant, and what it has of them
         * @description Needs the scope `usage:read`.
         */
        readonly get: operations["getLimits"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/usage": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * What the tenant used, by day and agent, newest day first
         * @description Needs the scope `usage:read`.
         */
        readonly get: operations["listUsage"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/client-tokens": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Make a token for a visitor of a page
         * @description Needs the scope `messages:write`.
         */
        readonly post: operations["createClientToken"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/stream-tickets": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Make a ticket that opens one stream within a minute, for addresses
         * @description Needs the scope `sessions:read`.
         */
        readonly post: operations["createStreamTicket"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/ws": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Web chat of visitors and streams for keys, as a WebSocket: see docs/web-chat.md for its frames
         * @description Needs the scope `sessions:read`.
         */
        readonly get: operations["openSocket"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/uploads": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Upload a file; the body is its bytes
         * @description Needs the scope `messages:write`.
         */
        readonly post: operations["createUpload"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/attachments/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Download a file
         * @description Needs the scope `runs:read`.
         */
        readonly get: operations["getAttachment"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/models": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List the agents as models, for clients of OpenAI
         * @description Needs the scope `messages:write`.
         */
        readonly get: operations["listModels"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/chat/completions": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /**
         * Say something to an agent and get its answer, for clients of OpenAI
         * @description Needs the scope `messages:write`.
         */
        readonly post: operations["createChatCompletion"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/agents": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List agents by name
         * @description Needs the scope `agents:write`.
         */
        readonly get: operations["listAgents"];
        readonly put?: never;
        /**
         * Make an agent
         * @description Needs the scope `agents:write`.
         */
        readonly post: operations["createAgent"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/agents/{agent}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Read an agent
         * @description Needs the scope `agents:write`.
         */
        readonly get: operations["getAgent"];
        readonly put?: never;
        readonly post?: never;
        /**
         * Delete an agent
         * @description Needs the scope `agents:write`.
         */
        readonly delete: operations["deleteAgent"];
        readonly options?: never;
        readonly head?: never;
        /**
         * Change an agent by merge patch
         * @description Needs the scope `agents:write`.
         */
        readonly patch: operations["updateAgent"];
        readonly trace?: never;
    };
    readonly "/v1/accounts": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List accounts by name
         * @description Needs the scope `accounts:write`.
         */
        readonly get: operations["listAccounts"];
        readonly put?: never;
        /**
         * Make an account
         * @description Needs the scope `accounts:write`.
         */
        readonly post: operations["createAccount"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/accounts/{account}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Read an account
         * @description Needs the scope `accounts:write`.
         */
        readonly get: operations["getAccount"];
        readonly put?: never;
        readonly post?: never;
        /**
         * Delete an account
         * @description Needs the scope `accounts:write`.
         */
        readonly delete: operations["deleteAccount"];
        readonly options?: never;
        readonly head?: never;
        /**
         * Change an account by merge patch
         * @description Needs the scope `accounts:write`.
         */
        readonly patch: operations["updateAccount"];
        readonly trace?: never;
    };
    readonly "/v1/keys": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * List keys by name
         * @description Needs the scope `keys:write`.
         */
        readonly get: operations["listKeys"];
        readonly put?: never;
        /**
         * Make a key
         * @description Needs the scope `keys:write`.
         */
        readonly post: operations["createKey"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/keys/{key}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /**
         * Read a key
         * @description Needs the scope `keys:write`.
         */
        readonly get: operations["getKey"];
        readonly put?: never;
        readonly post?: never;
        /**
         * Revoke a key
         * @description Needs the scope `keys:write`.
         */
        readonly delete: operations["deleteKey"];
        readonly options?: never;
        readonly head?: never;
        /**
         * Change a key by merge patch
         * @description Needs the scope `keys:write`.
         */
        readonly patch: operations["updateKey"];
        readonly trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        readonly Problem: {
            readonly type: string;
            readonly title: string;
            readonly status: number;
            readonly detail?: string;
            readonly code: string;
            readonly retryable: boolean;
            readonly retryAfterMs?: number;
            readonly requestId: string;
            readonly errors?: readonly {
                readonly pointer: string;
                readonly code: string;
                readonly detail?: string;
            }[];
            readonly runId?: string;
        };
        readonly CompletionError: {
            readonly error: {
                readonly message: string;
                /** @enum {string} */
                readonly type: "invalid_request_error" | "authentication_error" | "permission_error" | "rate_limit_error" | "server_error";
                readonly param: string | null;
                readonly code: string;
                readonly runId?: string;
            };
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    readonly createMessage: {
        readonly parameters: {
            readonly query?: {
                readonly stream?: "true" | "false";
                readonly types?: string;
                readonly deltas?: "true" | "false";
                readonly tools?: "none" | "names" | "full";
            };
            readonly header?: {
                readonly "Idempotency-Key"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly agentId?: string;
                    readonly accountId?: string;
                    readonly source?: {
                        readonly platform: string;
                        /** @enum {string} */
                        readonly chatType: "dm" | "group" | "channel" | "thread" | "forum" | "inbox";
                        readonly chatId?: string | null;
                        readonly threadId?: string | null;
                        readonly userId?: string | null;
                        readonly userIdAlt?: string | null;
                        readonly userName?: string | null;
                        readonly chatName?: string | null;
                        readonly prospectiveThreadId?: string | null;
                        readonly scopeId?: string | null;
                        readonly isBot?: boolean;
                    };
                    readonly sessionKey?: string;
                    readonly text: string;
                    readonly attachments?: readonly {
                        /** @enum {string} */
                        readonly kind?: "image" | "audio" | "video" | "file";
                        readonly ref: string;
                        readonly name?: string;
                        readonly mime?: string;
                        readonly size?: number;
                    }[];
                    /** @enum {string} */
                    readonly kind?: "message" | "wake";
                    /** @enum {string} */
                    readonly busyMode?: "queue";
                    readonly metadata?: {
                        readonly [key: string]: unknown;
                    };
                    readonly idempotencyKey?: string;
                };
            };
        };
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/event-stream": string;
                };
            };
            /** @description The answer */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly runId: string;
                        readonly eventId: string;
                        readonly sessionKey: string;
                        readonly slot: number;
                        readonly partition: number;
                        /** @enum {string} */
                        readonly status: "accepted" | "duplicate";
                        /** @enum {string} */
                        readonly runStatus: "queued" | "running" | "waiting" | "ok" | "no_reply" | "error" | "timeout" | "cancelled" | "superseded" | "merged" | "steered" | "discarded" | "refused" | "parked";
                        readonly position: number;
                    };
                };
            };
        };
    };
    readonly listRuns: {
        readonly parameters: {
            readonly query?: {
                readonly limit?: string;
                readonly cursor?: string;
                readonly status?: "queued" | "running" | "waiting" | "ok" | "no_reply" | "error" | "timeout" | "cancelled" | "superseded" | "merged" | "steered" | "discarded" | "refused" | "parked";
                readonly sessionKey?: string;
                readonly agentId?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly {
                            readonly runId: string;
                            readonly eventId: string;
                            readonly sessionKey: string;
                            readonly sessionId?: string;
                            readonly turnId?: string;
                            /** @enum {string} */
                            readonly status: "queued" | "running" | "waiting" | "ok" | "no_reply" | "error" | "timeout" | "cancelled" | "superseded" | "merged" | "steered" | "discarded" | "refused" | "parked";
                            readonly inputId?: string;
                            readonly input?: {
                                readonly kind: string;
                                readonly prompt: string;
                                readonly options?: readonly string[];
                                /** Format: date-time */
                                readonly expiresAt: string;
                            };
                            readonly attempts: number;
                            readonly reply?: {
                                readonly text: string;
                                readonly attachments?: readonly ({
                                    readonly kind?: string;
                                    readonly ref?: string;
                                    readonly name?: string;
                                    readonly mime?: string;
                                    readonly size?: number;
                                } & {
                                    readonly [key: string]: unknown;
                                })[];
                            };
                            readonly error?: {
                                readonly code: string;
                            };
                            /** Format: date-time */
                            readonly createdAt: string;
                            /** Format: date-time */
                            readonly startedAt?: string;
                            /** Format: date-time */
                            readonly finishedAt?: string;
                        }[];
                        readonly nextCursor: string | null;
                        readonly hasMore: boolean;
                    };
                };
            };
        };
    };
    readonly getRun: {
        readonly parameters: {
            readonly query?: {
                readonly wait?: string;
            };
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly runId: string;
                        readonly eventId: string;
                        readonly sessionKey: string;
                        readonly sessionId?: string;
                        readonly turnId?: string;
                        /** @enum {string} */
                        readonly status: "queued" | "running" | "waiting" | "ok" | "no_reply" | "error" | "timeout" | "cancelled" | "superseded" | "merged" | "steered" | "discarded" | "refused" | "parked";
                        readonly inputId?: string;
                        readonly input?: {
                            readonly kind: string;
                            readonly prompt: string;
                            readonly options?: readonly string[];
                            /** Format: date-time */
                            readonly expiresAt: string;
                        };
                        readonly attempts: number;
                        readonly reply?: {
                            readonly text: string;
                            readonly attachments?: readonly ({
                                readonly kind?: string;
                                readonly ref?: string;
                                readonly name?: string;
                                readonly mime?: string;
                                readonly size?: number;
                            } & {
                                readonly [key: string]: unknown;
                            })[];
                        };
                        readonly error?: {
                            readonly code: string;
                        };
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly startedAt?: string;
                        /** Format: date-time */
                        readonly finishedAt?: string;
                    };
                };
            };
        };
    };
    readonly streamRun: {
        readonly parameters: {
            readonly query?: {
                readonly after?: string;
                readonly seq?: string;
                readonly lastSeq?: string;
                readonly types?: string;
                readonly deltas?: "true" | "false";
                readonly tools?: "none" | "names" | "full";
            };
            readonly header?: {
                readonly "Last-Event-ID"?: string;
            };
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/event-stream": string;
                };
            };
        };
    };
    readonly cancelRun: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly runId: string;
                        readonly eventId: string;
                        readonly sessionKey: string;
                        readonly sessionId?: string;
                        readonly turnId?: string;
                        /** @enum {string} */
                        readonly status: "queued" | "running" | "waiting" | "ok" | "no_reply" | "error" | "timeout" | "cancelled" | "superseded" | "merged" | "steered" | "discarded" | "refused" | "parked";
                        readonly inputId?: string;
                        readonly input?: {
                            readonly kind: string;
                            readonly prompt: string;
                            readonly options?: readonly string[];
                            /** Format: date-time */
                            readonly expiresAt: string;
                        };
                        readonly attempts: number;
                        readonly reply?: {
                            readonly text: string;
                            readonly attachments?: readonly ({
                                readonly kind?: string;
                                readonly ref?: string;
                                readonly name?: string;
                                readonly mime?: string;
                                readonly size?: number;
                            } & {
                                readonly [key: string]: unknown;
                            })[];
                        };
                        readonly error?: {
                            readonly code: string;
                        };
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly startedAt?: string;
                        /** Format: date-time */
                        readonly finishedAt?: string;
                    };
                };
            };
        };
    };
    readonly getTimeline: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly eventId: string;
                        readonly runId: string;
                        readonly sessionKey: string;
                        /** @enum {string} */
                        readonly status: "queued" | "running" | "waiting" | "ok" | "no_reply" | "error" | "timeout" | "cancelled" | "superseded" | "merged" | "steered" | "discarded" | "refused" | "parked";
                        readonly data: readonly {
                            /** Format: date-time */
                            readonly at: string;
                            readonly step: string;
                            readonly node?: string;
                            readonly nodeName?: string;
                            readonly turnId?: string;
                            readonly attempt?: number;
                            readonly status?: string;
                            readonly reason?: string;
                            readonly deliveryId?: string;
                            readonly code?: string;
                            readonly inputId?: string;
                            readonly question?: string;
                        }[];
                    };
                };
            };
        };
    };
    readonly streamTenant: {
        readonly parameters: {
            readonly query?: {
                readonly after?: string;
                readonly types?: string;
                readonly deltas?: "true" | "false";
                readonly tools?: "none" | "names" | "full";
            };
            readonly header?: {
                readonly "Last-Event-ID"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/event-stream": string;
                };
            };
        };
    };
    readonly listSessions: {
        readonly parameters: {
            readonly query?: {
                readonly limit?: string;
                readonly cursor?: string;
                readonly kinds?: string;
                readonly activeMinutes?: string;
                readonly messageLimit?: string;
                readonly agentId?: string;
                readonly channel?: string;
                readonly user?: string;
                readonly status?: "active" | "expired" | "archived";
                readonly q?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly {
                            readonly sessionKey: string;
                            readonly sessionId: string | null;
                            readonly agentId: string;
                            readonly kind: string;
                            readonly channel: string;
                            readonly chatType: string;
                            /** @enum {string} */
                            readonly status: "active" | "expired" | "archived";
                            readonly label?: string;
                            readonly displayName: string;
                            /** @constant */
                            readonly paused?: true;
                            /** @constant */
                            readonly suspended?: true;
                            /** Format: date-time */
                            readonly createdAt: string;
                            /** Format: date-time */
                            readonly updatedAt: string;
                            readonly messages?: readonly {
                                readonly messageId: string;
                                readonly seq: number;
                                readonly role: string;
                                readonly author: string;
                                readonly text: string;
                                readonly parts: readonly unknown[];
                                readonly turnId?: string;
                                readonly cut?: boolean;
                                readonly inputId?: string;
                                /** Format: date-time */
                                readonly createdAt: string;
                            }[];
                        }[];
                        readonly nextCursor: string | null;
                        readonly hasMore: boolean;
                    };
                };
            };
        };
    };
    readonly getSession: {
        readonly parameters: {
            readonly query?: {
                readonly agentId?: string;
            };
            readonly header?: never;
            readonly path: {
                readonly session: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly sessionKey: string;
                        readonly sessionId: string | null;
                        readonly agentId: string;
                        readonly kind: string;
                        readonly channel: string;
                        readonly chatType: string;
                        /** @enum {string} */
                        readonly status: "active" | "expired" | "archived";
                        readonly label?: string;
                        readonly displayName: string;
                        /** @constant */
                        readonly paused?: true;
                        /** @constant */
                        readonly suspended?: true;
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly updatedAt: string;
                        readonly messages?: readonly {
                            readonly messageId: string;
                            readonly seq: number;
                            readonly role: string;
                            readonly author: string;
                            readonly text: string;
                            readonly parts: readonly unknown[];
                            readonly turnId?: string;
                            readonly cut?: boolean;
                            readonly inputId?: string;
                            /** Format: date-time */
                            readonly createdAt: string;
                        }[];
                    };
                };
            };
        };
    };
    readonly deleteSession: {
        readonly parameters: {
            readonly query?: {
                readonly agentId?: string;
            };
            readonly header?: never;
            readonly path: {
                readonly session: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly updateSession: {
        readonly parameters: {
            readonly query?: {
                readonly agentId?: string;
            };
            readonly header?: never;
            readonly path: {
                readonly session: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly label: string | null;
                };
            };
        };
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly sessionKey: string;
                        readonly sessionId: string | null;
                        readonly agentId: string;
                        readonly kind: string;
                        readonly channel: string;
                        readonly chatType: string;
                        /** @enum {string} */
                        readonly status: "active" | "expired" | "archived";
                        readonly label?: string;
                        readonly displayName: string;
                        /** @constant */
                        readonly paused?: true;
                        /** @constant */
                        readonly suspended?: true;
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly updatedAt: string;
                        readonly messages?: readonly {
                            readonly messageId: string;
                            readonly seq: number;
                            readonly role: string;
                            readonly author: string;
                            readonly text: string;
                            readonly parts: readonly unknown[];
                            readonly turnId?: string;
                            readonly cut?: boolean;
                            readonly inputId?: string;
                            /** Format: date-time */
                            readonly createdAt: string;
                        }[];
                        readonly stopped?: {
                            readonly turnId?: string;
                            readonly runIds: readonly string[];
                        };
                    };
                };
            };
        };
    };
    readonly getHistory: {
        readonly parameters: {
            readonly query?: {
                readonly limit?: string;
                readonly cursor?: string;
                readonly before?: string;
                readonly includeTools?: "true" | "false";
                readonly agentId?: string;
            };
            readonly header?: never;
            readonly path: {
                readonly session: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly {
                            readonly messageId: string;
                            readonly seq: number;
                            readonly role: string;
                            readonly author: string;
                            readonly text: string;
                            readonly parts: readonly unknown[];
                            readonly turnId?: string;
                            readonly cut?: boolean;
                            readonly inputId?: string;
                            /** Format: date-time */
                            readonly createdAt: string;
                        }[];
                        readonly nextCursor: string | null;
                        readonly hasMore: boolean;
                    };
                };
            };
        };
    };
    readonly streamSession: {
        readonly parameters: {
            readonly query?: {
                readonly after?: string;
                readonly seq?: string;
                readonly lastSeq?: string;
                readonly types?: string;
                readonly deltas?: "true" | "false";
                readonly tools?: "none" | "names" | "full";
                readonly agentId?: string;
                readonly ticket?: string;
            };
            readonly header?: {
                readonly "Last-Event-ID"?: string;
            };
            readonly path: {
                readonly session: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/event-stream": string;
                };
            };
        };
    };
    readonly stopSession: {
        readonly parameters: {
            readonly query?: {
                readonly agentId?: string;
            };
            readonly header?: never;
            readonly path: {
                readonly session: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly sessionKey: string;
                        readonly sessionId: string | null;
                        readonly agentId: string;
                        readonly kind: string;
                        readonly channel: string;
                        readonly chatType: string;
                        /** @enum {string} */
                        readonly status: "active" | "expired" | "archived";
                        readonly label?: string;
                        readonly displayName: string;
                        /** @constant */
                        readonly paused?: true;
                        /** @constant */
                        readonly suspended?: true;
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly updatedAt: string;
                        readonly messages?: readonly {
                            readonly messageId: string;
                            readonly seq: number;
                            readonly role: string;
                            readonly author: string;
                            readonly text: string;
                            readonly parts: readonly unknown[];
                            readonly turnId?: string;
                            readonly cut?: boolean;
                            readonly inputId?: string;
                            /** Format: date-time */
                            readonly createdAt: string;
                        }[];
                        readonly stopped?: {
                            readonly turnId?: string;
                            readonly runIds: readonly string[];
                        };
                    };
                };
            };
        };
    };
    readonly suspendSession: {
        readonly parameters: {
            readonly query?: {
                readonly agentId?: string;
            };
            readonly header?: never;
            readonly path: {
                readonly session: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly sessionKey: string;
                        readonly sessionId: string | null;
                        readonly agentId: string;
                        readonly kind: string;
                        readonly channel: string;
                        readonly chatType: string;
                        /** @enum {string} */
                        readonly status: "active" | "expired" | "archived";
                        readonly label?: string;
                        readonly displayName: string;
                        /** @constant */
                        readonly paused?: true;
                        /** @constant */
                        readonly suspended?: true;
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly updatedAt: string;
                        readonly messages?: readonly {
                            readonly messageId: string;
                            readonly seq: number;
                            readonly role: string;
                            readonly author: string;
                            readonly text: string;
                            readonly parts: readonly unknown[];
                            readonly turnId?: string;
                            readonly cut?: boolean;
                            readonly inputId?: string;
                            /** Format: date-time */
                            readonly createdAt: string;
                        }[];
                        readonly stopped?: {
                            readonly turnId?: string;
                            readonly runIds: readonly string[];
                        };
                    };
                };
            };
        };
    };
    readonly resumeSession: {
        readonly parameters: {
            readonly query?: {
                readonly agentId?: string;
            };
            readonly header?: never;
            readonly path: {
                readonly session: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly sessionKey: string;
                        readonly sessionId: string | null;
                        readonly agentId: string;
                        readonly kind: string;
                        readonly channel: string;
                        readonly chatType: string;
                        /** @enum {string} */
                        readonly status: "active" | "expired" | "archived";
                        readonly label?: string;
                        readonly displayName: string;
                        /** @constant */
                        readonly paused?: true;
                        /** @constant */
                        readonly suspended?: true;
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly updatedAt: string;
                        readonly messages?: readonly {
                            readonly messageId: string;
                            readonly seq: number;
                            readonly role: string;
                            readonly author: string;
                            readonly text: string;
                            readonly parts: readonly unknown[];
                            readonly turnId?: string;
                            readonly cut?: boolean;
                            readonly inputId?: string;
                            /** Format: date-time */
                            readonly createdAt: string;
                        }[];
                        readonly stopped?: {
                            readonly turnId?: string;
                            readonly runIds: readonly string[];
                        };
                    };
                };
            };
        };
    };
    readonly archiveSession: {
        readonly parameters: {
            readonly query?: {
                readonly agentId?: string;
            };
            readonly header?: never;
            readonly path: {
                readonly session: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly sessionKey: string;
                        readonly sessionId: string | null;
                        readonly agentId: string;
                        readonly kind: string;
                        readonly channel: string;
                        readonly chatType: string;
                        /** @enum {string} */
                        readonly status: "active" | "expired" | "archived";
                        readonly label?: string;
                        readonly displayName: string;
                        /** @constant */
                        readonly paused?: true;
                        /** @constant */
                        readonly suspended?: true;
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly updatedAt: string;
                        readonly messages?: readonly {
                            readonly messageId: string;
                            readonly seq: number;
                            readonly role: string;
                            readonly author: string;
                            readonly text: string;
                            readonly parts: readonly unknown[];
                            readonly turnId?: string;
                            readonly cut?: boolean;
                            readonly inputId?: string;
                            /** Format: date-time */
                            readonly createdAt: string;
                        }[];
                        readonly stopped?: {
                            readonly turnId?: string;
                            readonly runIds: readonly string[];
                        };
                    };
                };
            };
        };
    };
    readonly pauseSession: {
        readonly parameters: {
            readonly query?: {
                readonly agentId?: string;
            };
            readonly header?: never;
            readonly path: {
                readonly session: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly sessionKey: string;
                        readonly sessionId: string | null;
                        readonly agentId: string;
                        readonly kind: string;
                        readonly channel: string;
                        readonly chatType: string;
                        /** @enum {string} */
                        readonly status: "active" | "expired" | "archived";
                        readonly label?: string;
                        readonly displayName: string;
                        /** @constant */
                        readonly paused?: true;
                        /** @constant */
                        readonly suspended?: true;
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly updatedAt: string;
                        readonly messages?: readonly {
                            readonly messageId: string;
                            readonly seq: number;
                            readonly role: string;
                            readonly author: string;
                            readonly text: string;
                            readonly parts: readonly unknown[];
                            readonly turnId?: string;
                            readonly cut?: boolean;
                            readonly inputId?: string;
                            /** Format: date-time */
                            readonly createdAt: string;
                        }[];
                        readonly stopped?: {
                            readonly turnId?: string;
                            readonly runIds: readonly string[];
                        };
                    };
                };
            };
        };
    };
    readonly unpauseSession: {
        readonly parameters: {
            readonly query?: {
                readonly agentId?: string;
            };
            readonly header?: never;
            readonly path: {
                readonly session: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly sessionKey: string;
                        readonly sessionId: string | null;
                        readonly agentId: string;
                        readonly kind: string;
                        readonly channel: string;
                        readonly chatType: string;
                        /** @enum {string} */
                        readonly status: "active" | "expired" | "archived";
                        readonly label?: string;
                        readonly displayName: string;
                        /** @constant */
                        readonly paused?: true;
                        /** @constant */
                        readonly suspended?: true;
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly updatedAt: string;
                        readonly messages?: readonly {
                            readonly messageId: string;
                            readonly seq: number;
                            readonly role: string;
                            readonly author: string;
                            readonly text: string;
                            readonly parts: readonly unknown[];
                            readonly turnId?: string;
                            readonly cut?: boolean;
                            readonly inputId?: string;
                            /** Format: date-time */
                            readonly createdAt: string;
                        }[];
                        readonly stopped?: {
                            readonly turnId?: string;
                            readonly runIds: readonly string[];
                        };
                    };
                };
            };
        };
    };
    readonly resetSession: {
        readonly parameters: {
            readonly query?: {
                readonly agentId?: string;
            };
            readonly header?: {
                readonly "Idempotency-Key"?: string;
            };
            readonly path: {
                readonly session: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly idempotencyKey?: string;
                };
            };
        };
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly sessionKey: string;
                        readonly sessionId: string | null;
                        readonly agentId: string;
                        readonly kind: string;
                        readonly channel: string;
                        readonly chatType: string;
                        /** @enum {string} */
                        readonly status: "active" | "expired" | "archived";
                        readonly label?: string;
                        readonly displayName: string;
                        /** @constant */
                        readonly paused?: true;
                        /** @constant */
                        readonly suspended?: true;
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly updatedAt: string;
                        readonly messages?: readonly {
                            readonly messageId: string;
                            readonly seq: number;
                            readonly role: string;
                            readonly author: string;
                            readonly text: string;
                            readonly parts: readonly unknown[];
                            readonly turnId?: string;
                            readonly cut?: boolean;
                            readonly inputId?: string;
                            /** Format: date-time */
                            readonly createdAt: string;
                        }[];
                        readonly stopped?: {
                            readonly turnId?: string;
                            readonly runIds: readonly string[];
                        };
                    };
                };
            };
        };
    };
    readonly sendOutbound: {
        readonly parameters: {
            readonly query?: {
                readonly agentId?: string;
            };
            readonly header?: {
                readonly "Idempotency-Key"?: string;
            };
            readonly path: {
                readonly session: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly text: string;
                    readonly attachments?: readonly {
                        /** @enum {string} */
                        readonly kind?: "image" | "audio" | "video" | "file";
                        readonly ref: string;
                        readonly name?: string;
                        readonly mime?: string;
                        readonly size?: number;
                    }[];
                    /**
                     * @default agent
                     * @enum {string}
                     */
                    readonly author?: "agent" | "human" | "system";
                    readonly accountId?: string;
                    readonly idempotencyKey?: string;
                };
            };
        };
        readonly responses: {
            /** @description The answer */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly messageId: string;
                        readonly deliveryId: string;
                        readonly sessionKey: string;
                        readonly sessionId: string;
                        readonly seq: number;
                        /** @enum {string} */
                        readonly status: "accepted" | "duplicate";
                        /** @enum {string} */
                        readonly deliveryStatus: "pending" | "delivered";
                    };
                };
            };
        };
    };
    readonly answerInput: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly text: string;
                };
            };
        };
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly inputId: string;
                        /** @constant */
                        readonly outcome: "answered";
                    };
                };
            };
        };
    };
    readonly listDeliveries: {
        readonly parameters: {
            readonly query?: {
                readonly limit?: string;
                readonly cursor?: string;
                readonly status?: "pending" | "sending" | "delivered" | "failed" | "unknown" | "abandoned" | "offered";
                readonly session?: string;
                readonly sessionKey?: string;
                readonly agentId?: string;
                readonly accountId?: string;
                readonly runId?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly {
                            readonly deliveryId: string;
                            readonly messageId: string;
                            readonly sessionKey: string;
                            readonly sessionId: string;
                            readonly agentId: string;
                            readonly accountId?: string;
                            readonly runId?: string;
                            readonly turnId?: string;
                            /** @enum {string} */
                            readonly status: "pending" | "sending" | "delivered" | "failed" | "unknown" | "abandoned" | "offered";
                            readonly attempts: number;
                            /** @constant */
                            readonly recovered?: true;
                            /** Format: date-time */
                            readonly heldUntil?: string;
                            /** Format: date-time */
                            readonly nextAttemptAt?: string;
                            readonly error?: {
                                readonly code: string;
                            };
                            readonly platformMessageIds: readonly string[];
                            readonly text?: string;
                            /** Format: date-time */
                            readonly createdAt: string;
                            /** Format: date-time */
                            readonly updatedAt: string;
                        }[];
                        readonly nextCursor: string | null;
                        readonly hasMore: boolean;
                    };
                };
            };
        };
    };
    readonly getDelivery: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly deliveryId: string;
                        readonly messageId: string;
                        readonly sessionKey: string;
                        readonly sessionId: string;
                        readonly agentId: string;
                        readonly accountId?: string;
                        readonly runId?: string;
                        readonly turnId?: string;
                        /** @enum {string} */
                        readonly status: "pending" | "sending" | "delivered" | "failed" | "unknown" | "abandoned" | "offered";
                        readonly attempts: number;
                        /** @constant */
                        readonly recovered?: true;
                        /** Format: date-time */
                        readonly heldUntil?: string;
                        /** Format: date-time */
                        readonly nextAttemptAt?: string;
                        readonly error?: {
                            readonly code: string;
                        };
                        readonly platformMessageIds: readonly string[];
                        readonly text?: string;
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly updatedAt: string;
                    };
                };
            };
        };
    };
    readonly retryDelivery: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly deliveryId: string;
                        readonly messageId: string;
                        readonly sessionKey: string;
                        readonly sessionId: string;
                        readonly agentId: string;
                        readonly accountId?: string;
                        readonly runId?: string;
                        readonly turnId?: string;
                        /** @enum {string} */
                        readonly status: "pending" | "sending" | "delivered" | "failed" | "unknown" | "abandoned" | "offered";
                        readonly attempts: number;
                        /** @constant */
                        readonly recovered?: true;
                        /** Format: date-time */
                        readonly heldUntil?: string;
                        /** Format: date-time */
                        readonly nextAttemptAt?: string;
                        readonly error?: {
                            readonly code: string;
                        };
                        readonly platformMessageIds: readonly string[];
                        readonly text?: string;
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly updatedAt: string;
                    };
                };
            };
        };
    };
    readonly resolveDelivery: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    /** @enum {string} */
                    readonly outcome: "delivered" | "abandoned";
                };
            };
        };
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly deliveryId: string;
                        readonly messageId: string;
                        readonly sessionKey: string;
                        readonly sessionId: string;
                        readonly agentId: string;
                        readonly accountId?: string;
                        readonly runId?: string;
                        readonly turnId?: string;
                        /** @enum {string} */
                        readonly status: "pending" | "sending" | "delivered" | "failed" | "unknown" | "abandoned" | "offered";
                        readonly attempts: number;
                        /** @constant */
                        readonly recovered?: true;
                        /** Format: date-time */
                        readonly heldUntil?: string;
                        /** Format: date-time */
                        readonly nextAttemptAt?: string;
                        readonly error?: {
                            readonly code: string;
                        };
                        readonly platformMessageIds: readonly string[];
                        readonly text?: string;
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly updatedAt: string;
                    };
                };
            };
        };
    };
    readonly search: {
        readonly parameters: {
            readonly query: {
                readonly q: string;
                readonly limit?: string;
                readonly cursor?: string;
                readonly session?: string;
                readonly sessionKey?: string;
                readonly agentId?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly {
                            readonly messageId: string;
                            readonly sessionKey: string;
                            readonly sessionId: string;
                            readonly agentId: string;
                            /** @enum {string} */
                            readonly role: "user" | "assistant" | "notice";
                            readonly seq: number;
                            readonly snippet: string;
                            /** Format: date-time */
                            readonly createdAt: string;
                        }[];
                        readonly nextCursor: string | null;
                        readonly hasMore: boolean;
                    };
                };
            };
        };
    };
    readonly getLimits: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly limits: {
                            readonly ratePerSecond: number | null;
                            readonly burst: number | null;
                            readonly turnSlots: number;
                            readonly queuedPerLane: number;
                            readonly queuedPerTenant: number;
                            readonly retentionDays?: number;
                            readonly laneDays?: number;
                            readonly lanes?: number;
                        };
                        readonly use: {
                            readonly queuedPerTenant: number;
                        };
                    };
                };
            };
        };
    };
    readonly listUsage: {
        readonly parameters: {
            readonly query?: {
                readonly limit?: string;
                readonly cursor?: string;
                readonly from?: string;
                readonly to?: string;
                readonly agentId?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly {
                            /** Format: date */
                            readonly day: string;
                            readonly agentId: string;
                            readonly agent?: string;
                            readonly turns: number;
                            readonly events: number;
                            readonly deliveries: number;
                            readonly tokensIn: number;
                            readonly tokensOut: number;
                        }[];
                        readonly nextCursor: string | null;
                        readonly hasMore: boolean;
                    };
                };
            };
        };
    };
    readonly createClientToken: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly sub: string;
                    readonly name?: string;
                    readonly agentId?: string;
                    readonly accountId?: string;
                    readonly rooms?: "self" | readonly string[];
                    readonly ttlSeconds?: number;
                };
            };
        };
        readonly responses: {
            /** @description The answer */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly token: string;
                        /** Format: date-time */
                        readonly expiresAt: string;
                        readonly sub: string;
                        readonly agentId: string;
                        readonly accountId?: string;
                        readonly rooms: readonly string[];
                        readonly sessionKeys: {
                            readonly [key: string]: string;
                        };
                    };
                };
            };
        };
    };
    readonly createStreamTicket: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly ticket: string;
                        /** Format: date-time */
                        readonly expiresAt: string;
                    };
                };
            };
        };
    };
    readonly openSocket: {
        readonly parameters: {
            readonly query?: {
                readonly ticket?: string;
                readonly types?: string;
                readonly deltas?: "true" | "false";
                readonly tools?: "none" | "names" | "full";
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: never;
    };
    readonly createUpload: {
        readonly parameters: {
            readonly query?: {
                readonly name?: string;
            };
            readonly header?: {
                readonly "Idempotency-Key"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "*/*": string;
            };
        };
        readonly responses: {
            /** @description The answer */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly attachmentId: string;
                        /** @enum {string} */
                        readonly kind: "image" | "audio" | "video" | "file";
                        readonly name: string;
                        readonly mime: string;
                        readonly size: number;
                        readonly sha256: string;
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly expiresAt?: string;
                    };
                };
            };
        };
    };
    readonly getAttachment: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "*/*": string;
                };
            };
        };
    };
    readonly listModels: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @constant */
                        readonly object: "list";
                        readonly data: readonly {
                            readonly id: string;
                            /** @constant */
                            readonly object: "model";
                            readonly created: number;
                            readonly owned_by: string;
                        }[];
                        readonly has_more: boolean;
                    };
                };
            };
        };
    };
    readonly createChatCompletion: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                readonly "Idempotency-Key"?: string;
                readonly "X-Session-Key"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly temperature?: unknown;
                    readonly top_p?: unknown;
                    readonly max_tokens?: unknown;
                    readonly max_completion_tokens?: unknown;
                    readonly presence_penalty?: unknown;
                    readonly frequency_penalty?: unknown;
                    readonly logit_bias?: unknown;
                    readonly seed?: unknown;
                    readonly user?: unknown;
                    readonly safety_identifier?: unknown;
                    readonly prompt_cache_key?: unknown;
                    readonly prompt_cache_retention?: unknown;
                    readonly store?: unknown;
                    readonly metadata?: unknown;
                    readonly service_tier?: unknown;
                    readonly reasoning_effort?: unknown;
                    readonly verbosity?: unknown;
                    readonly parallel_tool_calls?: unknown;
                    readonly n?: unknown;
                    readonly stop?: unknown;
                    readonly tools?: unknown;
                    readonly tool_choice?: unknown;
                    readonly functions?: unknown;
                    readonly function_call?: unknown;
                    readonly response_format?: unknown;
                    readonly logprobs?: unknown;
                    readonly top_logprobs?: unknown;
                    readonly modalities?: unknown;
                    readonly audio?: unknown;
                    readonly prediction?: unknown;
                    readonly web_search_options?: unknown;
                    readonly model: string;
                    readonly messages: readonly ({
                        /** @enum {string} */
                        readonly role: "system" | "developer" | "user" | "assistant" | "tool" | "function";
                        readonly content?: (string | readonly {
                            /** @constant */
                            readonly type: "text";
                            readonly text: string;
                        }[]) | null;
                    } & {
                        readonly [key: string]: unknown;
                    })[];
                    readonly stream?: boolean | null;
                    readonly stream_options?: {
                        readonly include_usage?: boolean | null;
                        readonly include_obfuscation?: boolean | null;
                    } | null;
                    readonly idempotencyKey?: string;
                };
            };
        };
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly id: string;
                        /** @constant */
                        readonly object: "chat.completion";
                        readonly created: number;
                        readonly model: string;
                        readonly choices: readonly {
                            readonly index: number;
                            readonly message: {
                                /** @constant */
                                readonly role: "assistant";
                                readonly content: string;
                                readonly refusal: null;
                            };
                            readonly logprobs: null;
                            /** @constant */
                            readonly finish_reason: "stop";
                        }[];
                        readonly usage: {
                            readonly prompt_tokens: number;
                            readonly completion_tokens: number;
                            readonly total_tokens: number;
                        };
                    };
                    readonly "text/event-stream": string;
                };
            };
        };
    };
    readonly listAgents: {
        readonly parameters: {
            readonly query?: {
                readonly limit?: string;
                readonly cursor?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly {
                            readonly id: string;
                            readonly name: string;
                            readonly version: number;
                            /** @enum {string} */
                            readonly runtime: "echo" | "openai";
                            readonly echo?: {
                                readonly delayMs: number;
                                readonly fail: number;
                                readonly wordMs: number;
                            };
                            readonly openai?: {
                                readonly baseUrl: string;
                                readonly model: string;
                                readonly tools?: readonly "ask_person"[];
                                readonly images?: boolean;
                            };
                            readonly system?: string;
                            readonly keyPolicy: ("standard" | "openclaw" | "echo") | {
                                /** @enum {string} */
                                readonly name: "standard" | "openclaw" | "echo";
                                readonly groupSessionsPerUser?: boolean;
                                readonly threadSessionsPerUser?: boolean;
                                /** @enum {string} */
                                readonly dmScope?: "main" | "per-peer" | "per-channel-peer" | "per-account-channel-peer";
                                readonly mainKey?: string;
                                readonly identityLinks?: {
                                    readonly [key: string]: readonly string[];
                                };
                                /** @enum {string} */
                                readonly scope?: "per_user" | "shared";
                            };
                            readonly busy: {
                                /** @enum {string} */
                                readonly mode: "queue";
                            };
                            readonly limits?: {
                                readonly turnMs?: number;
                                readonly inactiveMs?: number;
                            };
                            readonly resume?: {
                                readonly freshnessMs?: number;
                                readonly resumesMax?: number;
                                readonly failuresMax?: number;
                            };
                            readonly reset?: {
                                /** @enum {string} */
                                readonly mode: "none" | "idle" | "daily" | "both";
                                readonly dailyHour?: number;
                                readonly idleMinutes?: number;
                            };
                            readonly resetByType?: {
                                readonly [key: string]: {
                                    /** @enum {string} */
                                    readonly mode: "none" | "idle" | "daily" | "both";
                                    readonly dailyHour?: number;
                                    readonly idleMinutes?: number;
                                };
                            };
                            readonly resetByChannel?: {
                                readonly [key: string]: {
                                    /** @enum {string} */
                                    readonly mode: "none" | "idle" | "daily" | "both";
                                    readonly dailyHour?: number;
                                    readonly idleMinutes?: number;
                                };
                            };
                            readonly secretNames: readonly string[];
                            /** Format: date-time */
                            readonly createdAt: string;
                            /** Format: date-time */
                            readonly updatedAt: string;
                        }[];
                        readonly nextCursor: string | null;
                        readonly hasMore: boolean;
                    };
                };
            };
        };
    };
    readonly createAgent: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly name: string;
                    /** @enum {string} */
                    readonly runtime: "echo" | "openai";
                    readonly echo?: {
                        readonly delayMs?: number;
                        readonly fail?: number;
                        readonly wordMs?: number;
                    };
                    readonly openai?: {
                        /** Format: uri */
                        readonly baseUrl: string;
                        readonly model: string;
                        readonly apiKey?: string;
                        readonly tools?: readonly "ask_person"[];
                        readonly images?: boolean;
                    };
                    readonly system?: string;
                    readonly keyPolicy?: ("standard" | "openclaw" | "echo") | {
                        /** @enum {string} */
                        readonly name: "standard" | "openclaw" | "echo";
                        readonly groupSessionsPerUser?: boolean;
                        readonly threadSessionsPerUser?: boolean;
                        /** @enum {string} */
                        readonly dmScope?: "main" | "per-peer" | "per-channel-peer" | "per-account-channel-peer";
                        readonly mainKey?: string;
                        readonly identityLinks?: {
                            readonly [key: string]: readonly string[];
                        };
                        /** @enum {string} */
                        readonly scope?: "per_user" | "shared";
                    };
                    readonly busy?: {
                        /** @enum {string} */
                        readonly mode?: "queue";
                    };
                    readonly limits?: {
                        readonly turnMs?: number;
                        readonly inactiveMs?: number;
                    };
                    readonly resume?: {
                        readonly freshnessMs?: number;
                        readonly resumesMax?: number;
                        readonly failuresMax?: number;
                    };
                    readonly loops?: {
                        readonly botTurnsMax?: number;
                        readonly botWindowMs?: number;
                        readonly hopsMax?: number;
                    };
                    readonly reset?: {
                        /** @enum {string} */
                        readonly mode: "none" | "idle" | "daily" | "both";
                        readonly dailyHour?: number;
                        readonly idleMinutes?: number;
                    };
                    readonly resetByType?: {
                        readonly [key: string]: {
                            /** @enum {string} */
                            readonly mode: "none" | "idle" | "daily" | "both";
                            readonly dailyHour?: number;
                            readonly idleMinutes?: number;
                        };
                    };
                    readonly resetByChannel?: {
                        readonly [key: string]: {
                            /** @enum {string} */
                            readonly mode: "none" | "idle" | "daily" | "both";
                            readonly dailyHour?: number;
                            readonly idleMinutes?: number;
                        };
                    };
                };
            };
        };
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly id: string;
                        readonly name: string;
                        readonly version: number;
                        /** @enum {string} */
                        readonly runtime: "echo" | "openai";
                        readonly echo?: {
                            readonly delayMs: number;
                            readonly fail: number;
                            readonly wordMs: number;
                        };
                        readonly openai?: {
                            readonly baseUrl: string;
                            readonly model: string;
                            readonly tools?: readonly "ask_person"[];
                            readonly images?: boolean;
                        };
                        readonly system?: string;
                        readonly keyPolicy: ("standard" | "openclaw" | "echo") | {
                            /** @enum {string} */
                            readonly name: "standard" | "openclaw" | "echo";
                            readonly groupSessionsPerUser?: boolean;
                            readonly threadSessionsPerUser?: boolean;
                            /** @enum {string} */
                            readonly dmScope?: "main" | "per-peer" | "per-channel-peer" | "per-account-channel-peer";
                            readonly mainKey?: string;
                            readonly identityLinks?: {
                                readonly [key: string]: readonly string[];
                            };
                            /** @enum {string} */
                            readonly scope?: "per_user" | "shared";
                        };
                        readonly busy: {
                            /** @enum {string} */
                            readonly mode: "queue";
                        };
                        readonly limits?: {
                            readonly turnMs?: number;
                            readonly inactiveMs?: number;
                        };
                        readonly resume?: {
                            readonly freshnessMs?: number;
                            readonly resumesMax?: number;
                            readonly failuresMax?: number;
                        };
                        readonly reset?: {
                            /** @enum {string} */
                            readonly mode: "none" | "idle" | "daily" | "both";
                            readonly dailyHour?: number;
                            readonly idleMinutes?: number;
                        };
                        readonly resetByType?: {
                            readonly [key: string]: {
                                /** @enum {string} */
                                readonly mode: "none" | "idle" | "daily" | "both";
                                readonly dailyHour?: number;
                                readonly idleMinutes?: number;
                            };
                        };
                        readonly resetByChannel?: {
                            readonly [key: string]: {
                                /** @enum {string} */
                                readonly mode: "none" | "idle" | "daily" | "both";
                                readonly dailyHour?: number;
                                readonly idleMinutes?: number;
                            };
                        };
                        readonly secretNames: readonly string[];
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly updatedAt: string;
                        readonly changes: readonly {
                            /** @enum {string} */
                            readonly kind: "tenant" | "key" | "agent" | "account";
                            readonly name: string;
                            /** @enum {string} */
                            readonly result: "created" | "updated" | "unchanged" | "deleted";
                            readonly version?: number;
                            readonly secret?: string;
                            readonly fields: readonly {
                                readonly pointer: string;
                                readonly before?: unknown;
                                readonly after?: unknown;
                            }[];
                        }[];
                    };
                };
            };
            /** @description The answer */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly id: string;
                        readonly name: string;
                        readonly version: number;
                        /** @enum {string} */
                        readonly runtime: "echo" | "openai";
                        readonly echo?: {
                            readonly delayMs: number;
                            readonly fail: number;
                            readonly wordMs: number;
                        };
                        readonly openai?: {
                            readonly baseUrl: string;
                            readonly model: string;
                            readonly tools?: readonly "ask_person"[];
                            readonly images?: boolean;
                        };
                        readonly system?: string;
                        readonly keyPolicy: ("standard" | "openclaw" | "echo") | {
                            /** @enum {string} */
                            readonly name: "standard" | "openclaw" | "echo";
                            readonly groupSessionsPerUser?: boolean;
                            readonly threadSessionsPerUser?: boolean;
                            /** @enum {string} */
                            readonly dmScope?: "main" | "per-peer" | "per-channel-peer" | "per-account-channel-peer";
                            readonly mainKey?: string;
                            readonly identityLinks?: {
                                readonly [key: string]: readonly string[];
                            };
                            /** @enum {string} */
                            readonly scope?: "per_user" | "shared";
                        };
                        readonly busy: {
                            /** @enum {string} */
                            readonly mode: "queue";
                        };
                        readonly limits?: {
                            readonly turnMs?: number;
                            readonly inactiveMs?: number;
                        };
                        readonly resume?: {
                            readonly freshnessMs?: number;
                            readonly resumesMax?: number;
                            readonly failuresMax?: number;
                        };
                        readonly reset?: {
                            /** @enum {string} */
                            readonly mode: "none" | "idle" | "daily" | "both";
                            readonly dailyHour?: number;
                            readonly idleMinutes?: number;
                        };
                        readonly resetByType?: {
                            readonly [key: string]: {
                                /** @enum {string} */
                                readonly mode: "none" | "idle" | "daily" | "both";
                                readonly dailyHour?: number;
                                readonly idleMinutes?: number;
                            };
                        };
                        readonly resetByChannel?: {
                            readonly [key: string]: {
                                /** @enum {string} */
                                readonly mode: "none" | "idle" | "daily" | "both";
                                readonly dailyHour?: number;
                                readonly idleMinutes?: number;
                            };
                        };
                        readonly secretNames: readonly string[];
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly updatedAt: string;
                        readonly changes: readonly {
                            /** @enum {string} */
                            readonly kind: "tenant" | "key" | "agent" | "account";
                            readonly name: string;
                            /** @enum {string} */
                            readonly result: "created" | "updated" | "unchanged" | "deleted";
                            readonly version?: number;
                            readonly secret?: string;
                            readonly fields: readonly {
                                readonly pointer: string;
                                readonly before?: unknown;
                                readonly after?: unknown;
                            }[];
                        }[];
                    };
                };
            };
        };
    };
    readonly getAgent: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly agent: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly id: string;
                        readonly name: string;
                        readonly version: number;
                        /** @enum {string} */
                        readonly runtime: "echo" | "openai";
                        readonly echo?: {
                            readonly delayMs: number;
                            readonly fail: number;
                            readonly wordMs: number;
                        };
                        readonly openai?: {
                            readonly baseUrl: string;
                            readonly model: string;
                            readonly tools?: readonly "ask_person"[];
                            readonly images?: boolean;
                        };
                        readonly system?: string;
                        readonly keyPolicy: ("standard" | "openclaw" | "echo") | {
                            /** @enum {string} */
                            readonly name: "standard" | "openclaw" | "echo";
                            readonly groupSessionsPerUser?: boolean;
                            readonly threadSessionsPerUser?: boolean;
                            /** @enum {string} */
                            readonly dmScope?: "main" | "per-peer" | "per-channel-peer" | "per-account-channel-peer";
                            readonly mainKey?: string;
                            readonly identityLinks?: {
                                readonly [key: string]: readonly string[];
                            };
                            /** @enum {string} */
                            readonly scope?: "per_user" | "shared";
                        };
                        readonly busy: {
                            /** @enum {string} */
                            readonly mode: "queue";
                        };
                        readonly limits?: {
                            readonly turnMs?: number;
                            readonly inactiveMs?: number;
                        };
                        readonly resume?: {
                            readonly freshnessMs?: number;
                            readonly resumesMax?: number;
                            readonly failuresMax?: number;
                        };
                        readonly reset?: {
                            /** @enum {string} */
                            readonly mode: "none" | "idle" | "daily" | "both";
                            readonly dailyHour?: number;
                            readonly idleMinutes?: number;
                        };
                        readonly resetByType?: {
                            readonly [key: string]: {
                                /** @enum {string} */
                                readonly mode: "none" | "idle" | "daily" | "both";
                                readonly dailyHour?: number;
                                readonly idleMinutes?: number;
                            };
                        };
                        readonly resetByChannel?: {
                            readonly [key: string]: {
                                /** @enum {string} */
                                readonly mode: "none" | "idle" | "daily" | "both";
                                readonly dailyHour?: number;
                                readonly idleMinutes?: number;
                            };
                        };
                        readonly secretNames: readonly string[];
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly updatedAt: string;
                    };
                };
            };
        };
    };
    readonly deleteAgent: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                readonly "If-Match"?: string;
            };
            readonly path: {
                readonly agent: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly updateAgent: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                readonly "If-Match"?: string;
            };
            readonly path: {
                readonly agent: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    /** @enum {string} */
                    readonly runtime?: "echo" | "openai";
                    readonly echo?: {
                        readonly delayMs?: number;
                        readonly fail?: number;
                        readonly wordMs?: number;
                    } | null;
                    readonly openai?: {
                        /** Format: uri */
                        readonly baseUrl?: string;
                        readonly model?: string;
                        readonly apiKey?: string;
                        readonly tools?: readonly "ask_person"[];
                        readonly images?: boolean;
                    } | null;
                    readonly system?: string | null;
                    readonly keyPolicy?: (("standard" | "openclaw" | "echo") | {
                        /** @enum {string} */
                        readonly name: "standard" | "openclaw" | "echo";
                        readonly groupSessionsPerUser?: boolean;
                        readonly threadSessionsPerUser?: boolean;
                        /** @enum {string} */
                        readonly dmScope?: "main" | "per-peer" | "per-channel-peer" | "per-account-channel-peer";
                        readonly mainKey?: string;
                        readonly identityLinks?: {
                            readonly [key: string]: readonly string[];
                        };
                        /** @enum {string} */
                        readonly scope?: "per_user" | "shared";
                    }) | null;
                    readonly busy?: {
                        /** @enum {string} */
                        readonly mode?: "queue";
                    } | null;
                    readonly limits?: {
                        readonly turnMs?: number;
                        readonly inactiveMs?: number;
                    } | null;
                    readonly resume?: {
                        readonly freshnessMs?: number;
                        readonly resumesMax?: number;
                        readonly failuresMax?: number;
                    } | null;
                    readonly loops?: {
                        readonly botTurnsMax?: number;
                        readonly botWindowMs?: number;
                        readonly hopsMax?: number;
                    } | null;
                    readonly reset?: {
                        /** @enum {string} */
                        readonly mode: "none" | "idle" | "daily" | "both";
                        readonly dailyHour?: number;
                        readonly idleMinutes?: number;
                    } | null;
                    readonly resetByType?: {
                        readonly [key: string]: {
                            /** @enum {string} */
                            readonly mode: "none" | "idle" | "daily" | "both";
                            readonly dailyHour?: number;
                            readonly idleMinutes?: number;
                        };
                    } | null;
                    readonly resetByChannel?: {
                        readonly [key: string]: {
                            /** @enum {string} */
                            readonly mode: "none" | "idle" | "daily" | "both";
                            readonly dailyHour?: number;
                            readonly idleMinutes?: number;
                        };
                    } | null;
                };
            };
        };
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly id: string;
                        readonly name: string;
                        readonly version: number;
                        /** @enum {string} */
                        readonly runtime: "echo" | "openai";
                        readonly echo?: {
                            readonly delayMs: number;
                            readonly fail: number;
                            readonly wordMs: number;
                        };
                        readonly openai?: {
                            readonly baseUrl: string;
                            readonly model: string;
                            readonly tools?: readonly "ask_person"[];
                            readonly images?: boolean;
                        };
                        readonly system?: string;
                        readonly keyPolicy: ("standard" | "openclaw" | "echo") | {
                            /** @enum {string} */
                            readonly name: "standard" | "openclaw" | "echo";
                            readonly groupSessionsPerUser?: boolean;
                            readonly threadSessionsPerUser?: boolean;
                            /** @enum {string} */
                            readonly dmScope?: "main" | "per-peer" | "per-channel-peer" | "per-account-channel-peer";
                            readonly mainKey?: string;
                            readonly identityLinks?: {
                                readonly [key: string]: readonly string[];
                            };
                            /** @enum {string} */
                            readonly scope?: "per_user" | "shared";
                        };
                        readonly busy: {
                            /** @enum {string} */
                            readonly mode: "queue";
                        };
                        readonly limits?: {
                            readonly turnMs?: number;
                            readonly inactiveMs?: number;
                        };
                        readonly resume?: {
                            readonly freshnessMs?: number;
                            readonly resumesMax?: number;
                            readonly failuresMax?: number;
                        };
                        readonly reset?: {
                            /** @enum {string} */
                            readonly mode: "none" | "idle" | "daily" | "both";
                            readonly dailyHour?: number;
                            readonly idleMinutes?: number;
                        };
                        readonly resetByType?: {
                            readonly [key: string]: {
                                /** @enum {string} */
                                readonly mode: "none" | "idle" | "daily" | "both";
                                readonly dailyHour?: number;
                                readonly idleMinutes?: number;
                            };
                        };
                        readonly resetByChannel?: {
                            readonly [key: string]: {
                                /** @enum {string} */
                                readonly mode: "none" | "idle" | "daily" | "both";
                                readonly dailyHour?: number;
                                readonly idleMinutes?: number;
                            };
                        };
                        readonly secretNames: readonly string[];
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly updatedAt: string;
                        readonly changes: readonly {
                            /** @enum {string} */
                            readonly kind: "tenant" | "key" | "agent" | "account";
                            readonly name: string;
                            /** @enum {string} */
                            readonly result: "created" | "updated" | "unchanged" | "deleted";
                            readonly version?: number;
                            readonly secret?: string;
                            readonly fields: readonly {
                                readonly pointer: string;
                                readonly before?: unknown;
                                readonly after?: unknown;
                            }[];
                        }[];
                    };
                };
            };
        };
    };
    readonly listAccounts: {
        readonly parameters: {
            readonly query?: {
                readonly limit?: string;
                readonly cursor?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly {
                            readonly id: string;
                            readonly name: string;
                            readonly version: number;
                            readonly agent: string;
                            readonly agentId: string;
                            readonly channel: string;
                            readonly options: {
                                readonly [key: string]: unknown;
                            };
                            readonly secretNames: readonly string[];
                            /** Format: date-time */
                            readonly pausedUntil?: string;
                            /** Format: date-time */
                            readonly createdAt: string;
                            /** Format: date-time */
                            readonly updatedAt: string;
                        }[];
                        readonly nextCursor: string | null;
                        readonly hasMore: boolean;
                    };
                };
            };
        };
    };
    readonly createAccount: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly name: string;
                    readonly agent?: string;
                    readonly channel: string;
                    readonly options?: {
                        readonly [key: string]: unknown;
                    };
                    readonly secrets?: {
                        readonly [key: string]: string;
                    };
                };
            };
        };
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly id: string;
                        readonly name: string;
                        readonly version: number;
                        readonly agent: string;
                        readonly agentId: string;
                        readonly channel: string;
                        readonly options: {
                            readonly [key: string]: unknown;
                        };
                        readonly secretNames: readonly string[];
                        /** Format: date-time */
                        readonly pausedUntil?: string;
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly updatedAt: string;
                        readonly changes: readonly {
                            /** @enum {string} */
                            readonly kind: "tenant" | "key" | "agent" | "account";
                            readonly name: string;
                            /** @enum {string} */
                            readonly result: "created" | "updated" | "unchanged" | "deleted";
                            readonly version?: number;
                            readonly secret?: string;
                            readonly fields: readonly {
                                readonly pointer: string;
                                readonly before?: unknown;
                                readonly after?: unknown;
                            }[];
                        }[];
                    };
                };
            };
            /** @description The answer */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly id: string;
                        readonly name: string;
                        readonly version: number;
                        readonly agent: string;
                        readonly agentId: string;
                        readonly channel: string;
                        readonly options: {
                            readonly [key: string]: unknown;
                        };
                        readonly secretNames: readonly string[];
                        /** Format: date-time */
                        readonly pausedUntil?: string;
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly updatedAt: string;
                        readonly changes: readonly {
                            /** @enum {string} */
                            readonly kind: "tenant" | "key" | "agent" | "account";
                            readonly name: string;
                            /** @enum {string} */
                            readonly result: "created" | "updated" | "unchanged" | "deleted";
                            readonly version?: number;
                            readonly secret?: string;
                            readonly fields: readonly {
                                readonly pointer: string;
                                readonly before?: unknown;
                                readonly after?: unknown;
                            }[];
                        }[];
                    };
                };
            };
        };
    };
    readonly getAccount: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly account: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly id: string;
                        readonly name: string;
                        readonly version: number;
                        readonly agent: string;
                        readonly agentId: string;
                        readonly channel: string;
                        readonly options: {
                            readonly [key: string]: unknown;
                        };
                        readonly secretNames: readonly string[];
                        /** Format: date-time */
                        readonly pausedUntil?: string;
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly updatedAt: string;
                    };
                };
            };
        };
    };
    readonly deleteAccount: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                readonly "If-Match"?: string;
            };
            readonly path: {
                readonly account: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly updateAccount: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                readonly "If-Match"?: string;
            };
            readonly path: {
                readonly account: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly agent?: string;
                    readonly options?: {
                        readonly [key: string]: unknown;
                    };
                    readonly secrets?: {
                        readonly [key: string]: string;
                    };
                };
            };
        };
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly id: string;
                        readonly name: string;
                        readonly version: number;
                        readonly agent: string;
                        readonly agentId: string;
                        readonly channel: string;
                        readonly options: {
                            readonly [key: string]: unknown;
                        };
                        readonly secretNames: readonly string[];
                        /** Format: date-time */
                        readonly pausedUntil?: string;
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly updatedAt: string;
                        readonly changes: readonly {
                            /** @enum {string} */
                            readonly kind: "tenant" | "key" | "agent" | "account";
                            readonly name: string;
                            /** @enum {string} */
                            readonly result: "created" | "updated" | "unchanged" | "deleted";
                            readonly version?: number;
                            readonly secret?: string;
                            readonly fields: readonly {
                                readonly pointer: string;
                                readonly before?: unknown;
                                readonly after?: unknown;
                            }[];
                        }[];
                    };
                };
            };
        };
    };
    readonly listKeys: {
        readonly parameters: {
            readonly query?: {
                readonly limit?: string;
                readonly cursor?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly {
                            readonly id: string;
                            readonly keyId: string;
                            readonly name: string;
                            readonly version: number;
                            readonly scopes: readonly string[];
                            readonly preset?: string;
                            readonly secret?: string;
                            /** Format: date-time */
                            readonly createdAt: string;
                            /** Format: date-time */
                            readonly expiresAt?: string;
                            /** Format: date-time */
                            readonly revokedAt?: string;
                            /** Format: date-time */
                            readonly lastUsedAt?: string;
                        }[];
                        readonly nextCursor: string | null;
                        readonly hasMore: boolean;
                    };
                };
            };
        };
    };
    readonly createKey: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly name: string;
                    /** @enum {string} */
                    readonly preset?: "owner" | "developer" | "sender" | "viewer";
                    readonly scopes?: readonly ("messages:write" | "runs:read" | "sessions:read" | "sessions:write" | "search:read" | "deliveries:write" | "agents:write" | "accounts:write" | "keys:write" | "webhooks:write" | "usage:read" | "audit:read")[];
                    /** Format: date-time */
                    readonly expiresAt?: string;
                };
            };
        };
        readonly responses: {
            /** @description The answer */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly id: string;
                        readonly keyId: string;
                        readonly name: string;
                        readonly version: number;
                        readonly scopes: readonly string[];
                        readonly preset?: string;
                        readonly secret?: string;
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly expiresAt?: string;
                        /** Format: date-time */
                        readonly revokedAt?: string;
                        /** Format: date-time */
                        readonly lastUsedAt?: string;
                        readonly changes: readonly {
                            /** @enum {string} */
                            readonly kind: "tenant" | "key" | "agent" | "account";
                            readonly name: string;
                            /** @enum {string} */
                            readonly result: "created" | "updated" | "unchanged" | "deleted";
                            readonly version?: number;
                            readonly secret?: string;
                            readonly fields: readonly {
                                readonly pointer: string;
                                readonly before?: unknown;
                                readonly after?: unknown;
                            }[];
                        }[];
                    };
                };
            };
        };
    };
    readonly getKey: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly key: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly id: string;
                        readonly keyId: string;
                        readonly name: string;
                        readonly version: number;
                        readonly scopes: readonly string[];
                        readonly preset?: string;
                        readonly secret?: string;
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly expiresAt?: string;
                        /** Format: date-time */
                        readonly revokedAt?: string;
                        /** Format: date-time */
                        readonly lastUsedAt?: string;
                    };
                };
            };
        };
    };
    readonly deleteKey: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                readonly "If-Match"?: string;
            };
            readonly path: {
                readonly key: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    readonly updateKey: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                readonly "If-Match"?: string;
            };
            readonly path: {
                readonly key: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    /** @enum {string} */
                    readonly preset?: "owner" | "developer" | "sender" | "viewer";
                    readonly scopes?: readonly ("messages:write" | "runs:read" | "sessions:read" | "sessions:write" | "search:read" | "deliveries:write" | "agents:write" | "accounts:write" | "keys:write" | "webhooks:write" | "usage:read" | "audit:read")[];
                    readonly expiresAt?: string | null;
                };
            };
        };
        readonly responses: {
            /** @description The answer */
            readonly 200: {
                headers: {
                    readonly ETag?: string;
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly id: string;
                        readonly keyId: string;
                        readonly name: string;
                        readonly version: number;
                        readonly scopes: readonly string[];
                        readonly preset?: string;
                        readonly secret?: string;
                        /** Format: date-time */
                        readonly createdAt: string;
                        /** Format: date-time */
                        readonly expiresAt?: string;
                        /** Format: date-time */
                        readonly revokedAt?: string;
                        /** Format: date-time */
                        readonly lastUsedAt?: string;
                        readonly changes: readonly {
                            /** @enum {string} */
                            readonly kind: "tenant" | "key" | "agent" | "account";
                            readonly name: string;
                            /** @enum {string} */
                            readonly result: "created" | "updated" | "unchanged" | "deleted";
                            readonly version?: number;
                            readonly secret?: string;
                            readonly fields: readonly {
                                readonly pointer: string;
                                readonly before?: unknown;
                                readonly after?: unknown;
                            }[];
                        }[];
                    };
                };
            };
        };
    };
}
