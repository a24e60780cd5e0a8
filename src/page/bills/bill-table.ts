import { unifiedWallet } from "../../contract/product-types.ts";
import { epochMs, isoTime } from "../../contract/time.ts";
import { amount, discrepancy, movement } from "../format.ts";
import { type Html, html, joined } from "../html.ts";
import { type BillFilter, billsAddress } from "../money/bill-links.ts";
import { isZero } from "../money/stretches.ts";
import type { PageSelection } from "../selection.ts";
import type { BillChain, BillList, ListedBill } from "./listed-bills.ts";

/** The table of bills, with the balance before and after each bill. */
export function billTable({ bills }: BillList, selection: PageSelection, filter: BillFilter): Html {
  const hasChain = bills.some(({ chain }) => chain !== undefined);
  const isUnified = selection.product === unifiedWallet;
  const figure = (title: string) => html`<th scope="col" class="figure">${title}</th>`;
  const partTitle = filter.pieces.length === 0 ? "Change" : "Counted";
  return html`
${hasChain ? "" : html`<p class="note">The days of these bills have too many to check each balance. A time leads to the bill's place among all of its day.</p>`}
<div class="scroll" tabindex="0" role="region" aria-label="List of bills"><table class="bill-list compact">
<thead><tr><th scope="col">Time</th>${isUnified ? html`<th scope="col">Product</th>` : ""}<th scope="col">Type</th><th scope="col">Contract</th>${figure("Amount")}${figure("Fee")}${figure(partTitle)}${hasChain ? [figure("Balance before"), figure("Balance after"), html`<th scope="col">Check</th>`] : ""}<th scope="col">Bill</th></tr></thead>
<tbody>${bills.map((bill) => rowOf(bill, selection, { hasChain, isUnified }))}</tbody></table></div>`;
}

function rowOf(
  bill: ListedBill,
  selection: PageSelection,
  { hasChain, isUnified }: { readonly hasChain: boolean; readonly isUnified: boolean },
): Html {
  const { cTime, productType, billId, businessType, category, symbol, chain } = bill;
  const moved = (title: string, decimal: string) =>
    html`<td class="figure" data-name="${title}">${movement(decimal, selection)}</td>`;
  return html`
<tr class="${toneOf(chain)}"><th scope="row"><a class="to-bills" href="${placeAddress(bill, selection)}">${isoTime(cTime).replace("T", " ")}</a></th>${isUnified ? html`<td>${productType.replace("UTA-", "")}</td>` : ""}<td class="type">${joined(businessType.split("_"), html`_<wbr>`)}${category === "unknown" ? html` <span class="note">(not mapped)</span>` : html` <span class="note">(${category})</span>`}</td><td>${symbol ?? ""}</td>${moved("Amount", bill.amount)}${moved("Fee", bill.fee)}<td class="figure main">${movement(bill.part, selection)}</td>${hasChain ? chainCells(chain, selection) : ""}<td class="note">${billId}</td></tr>`;
}

/** The address of all bills of this bill's day, from its millisecond back. */
function placeAddress({ cTime }: ListedBill, selection: PageSelection): string {
  const day = isoTime(cTime).slice(0, 10);
  const behind = new URLSearchParams({ before: isoTime(epochMs(cTime + 1)) });
  return `${billsAddress(selection, { from: day, to: day })}&${behind}`;
}

const chainCells = (chain: BillChain | undefined, selection: PageSelection): Html =>
  chain === undefined
    ? html`<td></td><td></td><td></td>`
    : html`<td class="figure" data-name="Balance before">${amount(chain.before, selection)}</td><td class="figure" data-name="after">${amount(chain.after, selection)}</td><td class="check">${chainText(chain, selection)}</td>`;

const isOff = (chain: BillChain): boolean => chain.difference !== null && !isZero(chain.difference);

function chainText(chain: BillChain, selection: PageSelection): Html {
  const { difference, rounding, isSettled } = chain;
  if (difference === null) return html`<span class="zero">no balance</span>`;
  if (isOff(chain)) {
    return html`off by ${discrepancy(difference, { ...selection, isExact: true })}${isSettled ? "" : ", not settled yet"}`;
  }
  if (!isZero(rounding))
    return html`rounded ${movement(rounding, { ...selection, isExact: true })}`;
  return html`<span class="is-read">adds up</span>`;
}

const toneOf = (chain: BillChain | undefined): string =>
  chain === undefined || !isOff(chain) ? "" : chain.isSettled ? "bad" : "warn";
