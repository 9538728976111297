// Made by `memdir attach`, removed by `memdir detach`: memory for opencode. Whatever fails here, opencode goes on.
import { spawnSync } from "node:child_process"

const MEMDIR = "MEMDIR"
const LIMIT_MS = 10000

export const MemdirPlugin = async (ctx) => {
  const pending = new Map() // what a session's next request gets, by its id

  const ask = (event, told) => {
    try {
      const input = JSON.stringify({ cwd: ctx.directory, hook_event_name: event, ...told })
      const done = spawnSync(MEMDIR, ["hook", "opencode", event], { input, timeout: LIMIT_MS, encoding: "utf8" })
      return done.status === 0 && done.stdout ? JSON.parse(done.stdout) : {}
    } catch {
      return {}
    }
  }

  const started = new Set()

  return {
    "chat.message": async (input, output) => {
      const session_id = input.sessionID
      const prompt = (output.parts || []).filter((part) => part.type === "text").map((part) => part.text).join("\n")
      const texts = []
      if (!started.has(session_id)) {
        started.add(session_id)
        texts.push(ask("session.created", { session_id, source: "startup" }).context)
      }
      texts.push(ask("chat.message", { session_id, prompt }).context)
      const context = texts.filter(Boolean).join("\n\n")
      if (context) pending.set(session_id, context)
    },
    "experimental.chat.system.transform": async (input, output) => {
      const context = pending.get(input.sessionID)
      if (context) output.system.push(context)
    },
    "experimental.session.compacting": async (input, output) => {
      const notes = ask("experimental.session.compacting", { session_id: input.sessionID }).context
      if (notes && Array.isArray(output.context)) output.context.push(notes)
    },
    event: async ({ event }) => {
      if (event.type !== "session.idle") return
      const session_id = event.properties.sessionID
      pending.delete(session_id)
      ask("session.idle", { session_id })
    },
  }
}
