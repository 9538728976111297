// Made by `memdir attach`, removed by `memdir detach`: memory for opencode. Whatever fails here, opencode goes on.
import { spawnSync } from "node:child_process"

const MEMDIR = "MEMDIR"
const HOME = "" // of memdir, where it is not the usual one
const LIMIT_MS = 10000
const GUARDED = false // whether a guard holds anywhere: only then memdir is asked before a tool runs
const MAX_TOOLS = 20
// `opencode run`: nobody sees what is told there.
const HEADLESS = process.argv.slice(2).find((word) => !word.startsWith("-")) === "run"
const NAMES_A_SESSION = /^You are a title generator/ // a request of opencode's own, under the session's id

class Refusal extends Error {} // of a guard of the user: the one thing that is meant to stop opencode

const harmless = (hook) => async (...given) => {
  try {
    await hook(...given)
  } catch (error) {
    if (error instanceof Refusal) throw error
  }
}

export const MemdirPlugin = async (ctx) => {
  const sessions = new Map() // what the requests of a session carry: opencode keeps no system text, so each gets it all
  const subagents = new Set() // nobody talks there

  const ask = (event, told) => {
    try {
      const input = JSON.stringify({ cwd: ctx.directory, hook_event_name: event, is_headless: HEADLESS, ...told })
      const env = HOME ? { ...process.env, MEMDIR_HOME: HOME } : process.env
      const done = spawnSync(MEMDIR, ["hook", "opencode", event], { input, env, timeout: LIMIT_MS, encoding: "utf8" })
      return (done.status === 0 && done.stdout && JSON.parse(done.stdout)) || {}
    } catch {
      return {}
    }
  }

  const told = new Map() // what a call's result gets, by the call's id

  const tell = (message) => {
    try {
      Promise.resolve(ctx.client.tui.showToast({ body: { title: "memdir", message, variant: "info" } })).catch(() => {})
    } catch {}
  }

  const hear = (session, event, told) => {
    const { context, message } = ask(event, told)
    if (context) session.texts.push(context)
    if (message) tell(message)
  }

  const begin = (session_id, source) => {
    const session = { texts: [], tools: [] }
    sessions.set(session_id, session)
    hear(session, "session.created", { session_id, source })
    return session
  }

  const hooks = {
    "chat.message": async (input, output) => {
      const session_id = input.sessionID
      if (subagents.has(session_id)) return
      const own = (output.parts || []).filter((part) => part?.type === "text" && !part.synthetic) // not opencode's
      const prompt = own.map((part) => part.text).join("\n")
      // What was shown before this process began went with the one before.
      const session = sessions.get(session_id) || begin(session_id, "clear")
      hear(session, "chat.message", { session_id, prompt, recent_tools: session.tools })
    },
    "tool.execute.before": async (input, output) => {
      const session = sessions.get(input.sessionID)
      if (session) session.tools = [input.tool, ...session.tools.filter((tool) => tool !== input.tool)].slice(0, MAX_TOOLS)
      if (!GUARDED) return
      const call = { session_id: input.sessionID, tool_name: input.tool, tool_input: output.args }
      const { context, refusal } = ask("tool.execute.before", call)
      if (refusal) throw new Refusal(refusal)
      if (context) told.set(input.callID, context)
    },
    "tool.execute.after": async (input, output) => {
      const text = told.get(input.callID)
      told.delete(input.callID)
      if (text && typeof output?.output === "string") output.output += `\n\n${text}`
    },
    "experimental.chat.system.transform": async (input, output) => {
      const session = sessions.get(input.sessionID)
      if (session && !NAMES_A_SESSION.test(output.system[0] || "")) output.system.push(...session.texts)
    },
    "experimental.session.compacting": async (input, output) => {
      const notes = ask("experimental.session.compacting", { session_id: input.sessionID }).context
      if (notes && Array.isArray(output.context)) output.context.push(notes)
    },
    event: async ({ event }) => {
      const { sessionID: session_id, info } = event.properties || {}
      if (event.type === "session.created" && info && info.parentID) subagents.add(info.id)
      if (!sessions.has(session_id)) return
      if (event.type === "session.compacted") begin(session_id, "compact")
      if (event.type === "session.idle") ask("session.idle", { session_id })
    },
  }
  return Object.fromEntries(Object.entries(hooks).map(([name, hook]) => [name, harmless(hook)]))
}
