import type { SQL } from "drizzle-orm";
import { secondMs } from "../../contract/time.ts";
import type { LeaseLostError } from "../../errors.ts";

/** A row by which a process holds an account for as long as it renews it: see renewable-lease.ts. */
export type RenewableLease = AsyncDisposable & {
  readonly account: string;
  /** One more with each new holder. */
  readonly epoch: number;
  /**
   * Looks at this machine's clock only. Once it has thrown, it always throws.
   * @throws LeaseLostError once the lease could have expired.
   */
  assertHeld(): void;
};

/** What a transaction needs of a lease. Without `assertHeld` only the database's row is checked. */
export type LeaseInUse = Pick<RenewableLease, "account" | "epoch"> &
  Partial<Pick<RenewableLease, "assertHeld">>;

/** How sync leases and verify leases differ. */
export type LeaseKind = {
  readonly table: "account_leases" | "account_guests";
  /** What a new holder sets in the row beside the lease itself. */
  readonly onTake: SQL;
  /** What each renewal reads for `onSeen`, as text, of a row of `leases`. */
  readonly seen: SQL;
  /** "account x is held by elsewhere process 7, since 2026-11-22 10:11:05Z" */
  readonly isHeldBy: (account: string, holder: string) => string;
  readonly isAtWork: (account: string, holder: string) => string;
  /** Another process took the lease. `holder` is empty where it has given it back, or the row is gone. */
  readonly overtaken: (account: string, holder: string) => LeaseLostError;
  /** The lease was not renewed in time; another process may have taken it. */
  readonly ranOut: (account: string) => LeaseLostError;
};

export const leaseTiming = {
  /** How long a lease lasts without a renewal. */
  leaseMs: 15 * secondMs,
  renewMs: 3 * secondMs,
  pollMs: 250,
  /** How long a lease stays taken after it was given back: its last requests still count for the rate limit. */
  cooldownMs: secondMs,
} as const;

export type LeaseTiming = { readonly [name in keyof typeof leaseTiming]: number };

/**
 * How long a holder uses a lease after its last renewal was sent: less than the lease lasts, so that its
 * last requests no longer count for the rate limit when another process begins. Without this, a run
 * that was frozen for 15 s sent 5 requests beside its successor's.
 */
export const usableMs = ({ leaseMs, cooldownMs }: LeaseTiming): number => leaseMs - 2 * cooldownMs;
